// An engine and a communicator that have the time of another's calls taken.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_TIMED_CALLS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_TIMED_CALLS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/executor/pass_timer.h"

namespace evenpack::worker {

// Tells the timer, which must outlive it and which others may take the place of, as the
// engine must.
class TimedEngine final : public AttentionEngine {
 public:
  TimedEngine(AttentionEngine& engine, const std::unique_ptr<PassTimer>& timer)
      : engine_(engine), timer_(timer) {}

  KeyPlacement key_placement() const override { return engine_.key_placement(); }
  bool leaves_key_gradients() const override { return engine_.leaves_key_gradients(); }
  absl::Status Forward(const AttentionCall& call, const ForwardResult& result) override;
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override;

 private:
  AttentionEngine& engine_;
  const std::unique_ptr<PassTimer>& timer_;
};

// Likewise; its transfers too must go before the timer.
class TimedCommunicator final : public Communicator {
 public:
  TimedCommunicator(Communicator& communicator, const std::unique_ptr<PassTimer>& timer)
      : communicator_(communicator), timer_(timer) {}

  uint32_t rank() const override { return communicator_.rank(); }
  uint32_t size() const override { return communicator_.size(); }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override;
  void Abort(const absl::Status& reason) override { communicator_.Abort(reason); }

 private:
  Communicator& communicator_;
  const std::unique_ptr<PassTimer>& timer_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_TIMED_CALLS_H_
