// Endpoints of ranks that are threads of one process, and exchanges that fail when a
// test wants it.
#ifndef EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_MEETING_PLACE_H_
#define EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_MEETING_PLACE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gpu_worker/communicator/endpoint.h"
#include "gpu_worker/communicator/local_group.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe.
class MeetingPlace {
 public:
  // Called before each exchange; true: the connections break now.
  using Breaks = std::function<bool()>;

  explicit MeetingPlace(uint32_t ranks) : ranks_(ranks) {}

  // Must not outlive the place.
  std::unique_ptr<worker::Endpoint> Open(uint32_t rank, Breaks breaks = {}) {
    MutexLock lock(mutex_);
    return std::make_unique<MetEndpoint>(
        *this, rank, absl::StrCat(rank, "/", opened_++), std::move(breaks));
  }

 private:
  using Group = std::shared_ptr<worker::LocalGroup>;

  class MetCommunicator final : public worker::Communicator {
   public:
    MetCommunicator(Group group, uint32_t rank, Breaks breaks)
        : group_(std::move(group)), rank_(rank), breaks_(std::move(breaks)) {}
    uint32_t rank() const override { return rank_; }
    uint32_t size() const override { return end().size(); }
    std::unique_ptr<worker::Transfer> Start(const worker::Exchange& exchange) override {
      if (breaks_ && breaks_()) Abort(absl::UnavailableError("the connections broke"));
      return end().Start(exchange);
    }
    void Abort(const absl::Status& reason) override { end().Abort(reason); }

   private:
    worker::Communicator& end() const { return group_->OfRank(rank_); }

    const Group group_;
    const uint32_t rank_;
    const Breaks breaks_;
  };

  class MetEndpoint final : public worker::Endpoint {
   public:
    MetEndpoint(MeetingPlace& place, uint32_t rank, std::string address, Breaks breaks)
        : place_(place),
          rank_(rank),
          address_(std::move(address)),
          breaks_(std::move(breaks)) {}
    const std::string& address() const override { return address_; }
    absl::StatusOr<std::unique_ptr<worker::Communicator>> Connect(
        const std::vector<std::string>& addresses) override {
      return std::make_unique<MetCommunicator>(place_.Meet(addresses), rank_, breaks_);
    }
    // It waits for nobody.
    void Cancel() override {}

   private:
    MeetingPlace& place_;
    const uint32_t rank_;
    const std::string address_;
    const Breaks breaks_;
  };

  // Those who have the same addresses are one group.
  Group Meet(const std::vector<std::string>& addresses) {
    MutexLock lock(mutex_);
    Group& group = groups_[absl::StrJoin(addresses, " ")];
    if (group == nullptr) group = std::make_shared<worker::LocalGroup>(ranks_);
    return group;
  }

  const uint32_t ranks_;
  Mutex mutex_;
  uint64_t opened_ EVENPACK_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Group> groups_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_MEETING_PLACE_H_
