// How long a pass computes, and how long it waits for its peers: an engine and a
// communicator that take the time of another's calls.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMES_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

// Nanoseconds.
struct PassTimes {
  // In calls of the engine.
  int64_t computed_ns = 0;
  // In waits for transfers: what of the exchanges computing did not hide.
  int64_t waited_ns = 0;

  friend bool operator==(const PassTimes&, const PassTimes&) = default;
};

// Adds to `times`, which must outlive it, as the others must.
class TimedEngine final : public AttentionEngine {
 public:
  TimedEngine(AttentionEngine& engine, const Clock& clock, PassTimes& times)
      : engine_(engine), clock_(clock), times_(times) {}

  KeyPlacement key_placement() const override { return engine_.key_placement(); }
  absl::Status Forward(const AttentionCall& call, const ForwardResult& result) override;
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override;

 private:
  AttentionEngine& engine_;
  const Clock& clock_;
  PassTimes& times_;
};

// Likewise; its transfers too must go before `times`.
class TimedCommunicator final : public Communicator {
 public:
  TimedCommunicator(Communicator& communicator, const Clock& clock, PassTimes& times)
      : communicator_(communicator), clock_(clock), times_(times) {}

  uint32_t rank() const override { return communicator_.rank(); }
  uint32_t size() const override { return communicator_.size(); }
  std::unique_ptr<Transfer> Start(const Exchange& exchange) override;
  void Abort(const absl::Status& reason) override { communicator_.Abort(reason); }

 private:
  Communicator& communicator_;
  const Clock& clock_;
  PassTimes& times_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_PASS_TIMES_H_
