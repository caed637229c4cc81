// How much memory the passes over a micro-batch take beside the trainer's tensors.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_PASS_MEMORY_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_PASS_MEMORY_H_

#include <cstdint>

#include "gpu_worker/executor/prepared_micro_batch.h"

namespace evenpack::worker {

// Bytes, at most at one time, of what travels and is summed; a kernel's own working
// memory is not in it.
struct PassMemory {
  // Keys and values of other ranks, of two groups of heads.
  uint64_t forward = 0;
  // These, the rank's own sums in single precision, and of two groups of heads the
  // gradients of what it received and of what comes back.
  uint64_t backward = 0;
};

// `head_groups` as ExecutorOptions has it.
PassMemory MemoryOf(const PreparedMicroBatch& prepared, uint32_t head_groups);

// What a micro-batch's tensors take in the trainer's memory: those of a forward pass,
// and of a backward pass beside them. Each begins at a multiple of 64 bytes.
PassMemory TensorMemoryOf(const AttentionShape& shape, uint64_t held_rows);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_PASS_MEMORY_H_
