// Attention of a micro-batch over a context-parallel group: keys and values travel to
// the ranks whose queries see them while others are computed with.
//
//   Executor executor(communicator, engine, {});
//   auto prepared = executor.Prepare(plan, shape);
//   executor.Forward(*prepared, {query, key, value}, {output, log_sum_exp});
//   executor.Backward(*prepared, {query, key, value}, {output, log_sum_exp},
//                     output_gradient, {query_gradient, ...});
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_EXECUTOR_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/executor/pass_timer.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/timed_calls.h"
#include "server/core/sharding/shard_plan.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

struct ExecutorOptions {
  // KV heads are exchanged in as many groups, one while the last is computed with; at
  // least 1, and no more than there are heads counts. The same on all ranks.
  uint32_t head_groups = 4;
  // Where tensors are: that of the engine and of the communicator; must outlive the
  // executor. Null: this process's memory.
  Device* device = nullptr;
  // By which passes are timed where the device is none that tells its own times, and
  // GroupExecutor has patience; must outlive the executor.
  const Clock* clock = &Clock::Steady();
  // Fewer groups are made where the keys and values of one would be fewer bytes than
  // these, over all documents that are cut: small kernels and messages take longer than
  // they hide. The same on all ranks.
  size_t least_group_bytes = 0;

  // In how many groups a micro-batch's heads are exchanged, if it has so many.
  uint32_t HeadGroupsOf(const PreparedMicroBatch& prepared) const;
  Device& Where() const { return device == nullptr ? Device::Host() : *device; }
};

// One rank. Not thread-safe: one call at a time, the same calls in the same order on
// all ranks of the group, with the same element type and heads. FAILED_PRECONDITION of
// calls that differ, where the communicator tells (not over NCCL).
class Executor {
 public:
  // Both must outlive it.
  Executor(Communicator& communicator, AttentionEngine& engine,
           const ExecutorOptions& options);
  // The timed ends refer to its own timer.
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // INVALID_ARGUMENT: the plan is for another number of ranks, or the shape is refused.
  // The plan comes from a planner or has passed Validate. May run beside a call.
  absl::StatusOr<PreparedMicroBatch> Prepare(const ShardPlan& plan,
                                             const AttentionShape& shape) const;

  // Errors of the communicator and the engine, which abort the group: peers have
  // ABORTED. The results are undefined then.
  absl::Status Forward(const PreparedMicroBatch& prepared, const AttentionInput& input,
                       const AttentionOutput& result);
  // `forward`: what Forward gave. Gradients of keys and values are summed over ranks in
  // single precision, in rank order.
  //
  // Both return when the device has been given the work, which comes in the order of
  // its stream (device.h, communicator.h).
  absl::Status Backward(const PreparedMicroBatch& prepared, const AttentionInput& input,
                        const AttentionOutput& forward, const void* output_gradient,
                        const AttentionGradients& result);
  // Of the last Forward or Backward; null where it was taken. Must not outlive the
  // executor's device.
  std::unique_ptr<PassTimer> TakeTimer() { return std::move(timer_); }

 private:
  // Runs a pass, and times it.
  template <typename Pass>
  absl::Status Run(Pass& pass, const PreparedMicroBatch& prepared);
  // Peers would wait for this rank's part.
  absl::Status AbortUnlessOk(absl::Status status);

  Communicator& communicator_;
  const ExecutorOptions options_;
  std::unique_ptr<PassTimer> timer_;
  TimedCommunicator timed_communicator_;
  TimedEngine timed_engine_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_EXECUTOR_H_
