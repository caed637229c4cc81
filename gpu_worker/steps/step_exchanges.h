// A communicator whose exchanges say which step they are of.
#ifndef EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_
#define EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// Passes on to another one, which must outlive it.
class StepExchanges final : public Communicator {
 public:
  explicit StepExchanges(Communicator& communicator) : communicator_(communicator) {}

  // Of the exchanges that follow.
  void SetStep(uint64_t step) { step_ = step; }

  uint32_t rank() const override { return communicator_.rank(); }
  uint32_t size() const override { return communicator_.size(); }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    Exchange of_step = exchange;
    of_step.step = step_;
    return communicator_.Start(of_step);
  }
  absl::Status Settle() override { return communicator_.Settle(); }
  void Abort(const absl::Status& reason) override { communicator_.Abort(reason); }
  void Leave(const absl::Status& reason) override { communicator_.Leave(reason); }

 private:
  Communicator& communicator_;
  uint64_t step_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_
