// How memory is handed out to plans' runs.
#ifndef EVENPACK_GPU_WORKER_CUDNN_PLAN_MEMORY_H_
#define EVENPACK_GPU_WORKER_CUDNN_PLAN_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace evenpack::worker {

// As the driver aligns what it gives. A descriptor of a tensor, which kernels keep
// where they work (docs/adr/0090), takes 64 bytes or 128; a sum or a row is read by 16.
inline constexpr size_t kPlanAlignment = 256;

// That is declared of every tensor, which cuDNN's frontend does by itself.
inline constexpr size_t kDeclaredAlignment = 16;

// But of the sums that a forward run writes: those of some heads begin at any number of
// the trainer's rows, and are written one by one (docs/adr/0126).
inline constexpr size_t kForwardSumAlignment = sizeof(float);

// Bytes of a part, after which another one may begin.
constexpr size_t AlignedForPlans(size_t bytes) {
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

inline bool IsAlignedTensor(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kDeclaredAlignment == 0;
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_PLAN_MEMORY_H_
