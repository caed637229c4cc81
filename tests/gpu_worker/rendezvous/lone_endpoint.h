// An endpoint of a group of one, which a test has connect or fail.
#ifndef EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_LONE_ENDPOINT_H_
#define EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_LONE_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/endpoint.h"

namespace evenpack::testing {

// Connected to nobody; remembers why it was aborted.
class LoneCommunicator final : public worker::Communicator {
 public:
  explicit LoneCommunicator(std::shared_ptr<std::vector<absl::Status>> aborts)
      : aborts_(std::move(aborts)) {}
  uint32_t rank() const override { return 0; }
  uint32_t size() const override { return 1; }
  std::unique_ptr<worker::Transfer> Start(const worker::Exchange&) override {
    return nullptr;
  }
  void Abort(const absl::Status& reason) override { aborts_->push_back(reason); }

 private:
  const std::shared_ptr<std::vector<absl::Status>> aborts_;
};

class LoneEndpoint final : public worker::Endpoint {
 public:
  LoneEndpoint(std::string address, absl::Status outcome,
               std::shared_ptr<std::vector<absl::Status>> aborts)
      : address_(std::move(address)),
        outcome_(std::move(outcome)),
        aborts_(std::move(aborts)) {}
  const std::string& address() const override { return address_; }
  absl::StatusOr<std::unique_ptr<worker::Communicator>> Connect(
      const std::vector<std::string>&) override {
    if (!outcome_.ok()) return outcome_;
    return std::make_unique<LoneCommunicator>(aborts_);
  }
  void Cancel() override {}

 private:
  const std::string address_;
  const absl::Status outcome_;
  const std::shared_ptr<std::vector<absl::Status>> aborts_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_LONE_ENDPOINT_H_
