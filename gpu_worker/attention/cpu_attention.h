// Attention on the processor: blocked as FlashAttention is (Dao et al.,
// "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness"),
// products by BLAS.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_CPU_ATTENTION_H_
#define EVENPACK_GPU_WORKER_ATTENTION_CPU_ATTENTION_H_

#include <cstddef>
#include <memory>

#include "gpu_worker/attention/attention_engine.h"

namespace evenpack::worker {

// Computes in single precision whatever the tensors hold. Memory beside the tensors:
// less than 4 MiB a thread where up to 256 query heads share a KV head. The forward
// pass is shared out by tiles of queries; the backward pass by document and KV head, so
// that gradients of keys are summed in a fixed order: results do not depend on the
// number of threads. OpenBLAS is set to one thread of its own in the whole process.
class CpuAttention : public AttentionEngine {
 public:
  // Threads that compute, that of the caller among them; at least 1.
  explicit CpuAttention(size_t threads);
  ~CpuAttention() override;

  // Never fails.
  absl::Status Forward(const AttentionCall& call, const ForwardResult& result) override;
  absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                        const BackwardResult& result) override;

 private:
  struct Threads;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_CPU_ATTENTION_H_
