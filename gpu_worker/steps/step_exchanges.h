// A communicator whose exchanges say which step they are of, and are counted up by what
// they are.
#ifndef EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_
#define EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu_worker/communicator/communicator.h"
#include "server/core/digest/digest.h"

namespace evenpack::worker {

// Passes on to another one, which must outlive it.
class StepExchanges final : public Communicator {
 public:
  explicit StepExchanges(Communicator& communicator) : communicator_(communicator) {}

  // Of the exchanges that follow.
  void SetStep(uint64_t step) {
    step_ = step;
    exchanged_ = 0;
  }
  // Those since then, in their order, as one number: the same on ranks that make the
  // same passes, since all take part in an exchange that one has rows in.
  uint64_t exchanged() const { return exchanged_; }

  uint32_t rank() const override { return communicator_.rank(); }
  uint32_t size() const override { return communicator_.size(); }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override {
    Exchange of_step = exchange;
    of_step.step = step_;
    DigestBuilder all;
    for (const uint64_t each :
         {exchanged_, exchange.form, exchange.tensors.size(), exchange.row_bytes}) {
      all.Word(each);
    }
    exchanged_ = all.Finish().low;
    return communicator_.Start(of_step);
  }
  absl::Status Settle() override { return communicator_.Settle(); }
  void Abort(const absl::Status& reason) override { communicator_.Abort(reason); }
  void Leave(const absl::Status& reason) override { communicator_.Leave(reason); }

 private:
  Communicator& communicator_;
  uint64_t step_ = 0;
  uint64_t exchanged_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_STEPS_STEP_EXCHANGES_H_
