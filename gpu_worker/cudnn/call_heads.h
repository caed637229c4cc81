// Calls for some of a call's heads.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_
#define EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_

#include <cstdint>

#include "gpu_worker/attention/attention_engine.h"

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

// Bytes that cuDNN's backward run of the call takes beside its tensors: a
// single-precision gradient of each query, and two of each key for each query head,
// where `keys` is the sum over the slices.
uint64_t BackwardWorkspace(const AttentionCall& call, uint64_t keys);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CALL_HEADS_H_
