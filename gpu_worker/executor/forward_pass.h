// One rank's forward pass over a micro-batch.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_FORWARD_PASS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_FORWARD_PASS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/received_kv.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// While the first group of heads travels, the slices that need no other rank's keys are
// computed; while the next one travels, the last.
class ForwardPass {
 public:
  // All must outlive it; it may wait for exchanges when it goes.
  ForwardPass(const PreparedMicroBatch& prepared, const AttentionInput& input,
              const AttentionOutput& result, Communicator& communicator,
              AttentionEngine& engine, Device& device)
      : prepared_(prepared),
        input_(input),
        result_(result),
        communicator_(communicator),
        engine_(engine),
        device_(device) {}

  // Once.
  absl::Status Run(uint32_t head_groups);

 private:
  absl::Status Compute(const AttentionCall& call, const HeadView& heads);

  const PreparedMicroBatch& prepared_;
  const AttentionInput& input_;
  const AttentionOutput& result_;
  Communicator& communicator_;
  AttentionEngine& engine_;
  Device& device_;
  std::unique_ptr<ReceivedKv> next_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_FORWARD_PASS_H_
