#include "gpu_worker/attention/softmax_kernels.h"

#include "gpu_worker/attention/softmax_lanes.h"

namespace evenpack::worker {

std::vector<SoftmaxKernels> SoftmaxKernelsHere() {
  std::vector<SoftmaxKernels> kernels;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(Avx512SoftmaxKernels());
  if (__builtin_cpu_supports("avx2")) kernels.push_back(Avx2SoftmaxKernels());
#endif
  kernels.push_back(SoftmaxLanes<4>::Kernels("128 bits"));
  return kernels;
}

}  // namespace evenpack::worker
