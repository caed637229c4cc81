// One rank's backward pass over a micro-batch.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/executor/gradient_sums.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/received_kv.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// Keys and values travel again, so that no more of them is held between the passes than
// the rank's own. While a group of heads is computed the keys of the next one travel
// here and the gradients of the last one back. Slices that need no other rank's keys
// are computed in part while the first keys travel, and the others while the last
// gradients do.
class BackwardPass {
 public:
  // As ForwardPass. `forward`: what that gave.
  BackwardPass(const PreparedMicroBatch& prepared, const AttentionInput& input,
               const AttentionOutput& forward, const void* output_gradient,
               const AttentionGradients& result, Communicator& communicator,
               AttentionEngine& engine, Device& device);

  // Once.
  absl::Status Run(uint32_t head_groups);

 private:
  // `others`: of the received rows.
  absl::Status Compute(const AttentionCall& call, const HeadView& heads,
                       GradientSums& others);
  absl::Status ComputeLocal(std::span<const AttentionTask> tasks);
  absl::Status ComputeReceived(ReceivedKv& received);
  // What has come back, but for the last `left` groups of heads.
  absl::Status AddReturned(size_t left);
  // What is there before the first call.
  absl::Status Prepare();
  absl::Status ClearPaddingOfResult();
  // From the sums.
  absl::Status StoreResult();

  const PreparedMicroBatch& prepared_;
  const AttentionInput& input_;
  const AttentionOutput& forward_;
  const void* const output_gradient_;
  const AttentionGradients& result_;
  Communicator& communicator_;
  AttentionEngine& engine_;
  Device& device_;
  GradientSums own_;
  std::unique_ptr<ReceivedKv> next_;
  // On their way back.
  std::deque<std::unique_ptr<ReturnedGradients>> returning_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_
