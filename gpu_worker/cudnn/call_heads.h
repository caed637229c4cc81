// Calls for some of a call's heads.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_
#define EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_

#include <cstdint>

#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

// A backward call.
struct BackwardCall {
  AttentionCall call;
  BackwardInput input;
  BackwardResult result;
};

// For `count` KV heads from `begin` on, and the query heads that attend to them. Where
// gradients of keys and values go stays as it is.
BackwardCall SomeHeads(const BackwardCall& of, uint32_t begin, uint32_t count);

// Bytes that a backward run of the plan takes beside its tensors, but for some rows and
// what the kernel itself asks for, some 500 bytes a sequence. As cuDNN's frontend 1.32
// counts, of numbers in single precision: gradients of queries in rows as wide as those
// of their tensor, and a sum for each of the run's heads; where several query heads
// attend to a KV head, also their shares of the gradients of keys and of values, in
// rows as many times as wide as these have.
uint64_t BackwardWorkspace(const PlanShape& shape);

// The most of the plan's KV heads whose run takes `most` bytes at most where gradients
// of keys and values lie in rows of theirs alone; one where even that takes more. All
// where the run of some would take no less.
uint32_t HeadsAtOnce(const PlanShape& shape, uint64_t most);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_
