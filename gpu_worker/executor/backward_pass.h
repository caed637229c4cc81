// One rank's backward pass over a micro-batch.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

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
  struct Local {
    HeadRange heads;
    std::span<const AttentionTask> tasks;
  };
  struct LocalWork {
    Local before;
    Local after;
  };
  // What an engine left of local work.
  struct Left {
    HeadRange heads;
    std::vector<KeyGradients> gradients;
  };

  // By tasks where all heads travel at once. Else by heads: those of the last group
  // come after, so that what other groups bring back may be added before.
  LocalWork Divided(const std::vector<HeadRange>& groups) const;
  // What is there before the first call.
  absl::Status Prepare();
  absl::Status ClearPaddingOfResult();
  absl::Status ComputeLocal(const Local& local);
  absl::Status ComputeReceived(ReceivedKv& received);
  absl::Status ComputeFor(const AttentionCall& call, const HeadView& heads,
                          ReturnedGradients& gradients);
  // `result`: where gradients of keys and values go, but for own sums.
  absl::Status Compute(const AttentionCall& call, const HeadView& heads,
                       BackwardResult result);
  // What has come back, but for the last `left` groups of heads.
  absl::Status StoreReturned(size_t left);
  // The result of these heads, whose local work is done.
  absl::Status Store(const HeadView& heads, std::span<const RowTerm> returned);

  const PreparedMicroBatch& prepared_;
  const AttentionInput& input_;
  const AttentionOutput& forward_;
  const void* const output_gradient_;
  const AttentionGradients& result_;
  Communicator& communicator_;
  AttentionEngine& engine_;
  Device& device_;
  // Of local work, and of own keys that others' are computed with: with an engine that
  // adds to sums, or that leaves gradients.
  GradientSums own_;
  std::deque<Left> left_;
  std::unique_ptr<ReceivedKv> next_;
  // On their way back.
  std::deque<std::unique_ptr<ReturnedGradients>> returning_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_BACKWARD_PASS_H_
