#include "gpu_worker/attention/softmax_kernels.h"
#include "gpu_worker/attention/softmax_lanes.h"

namespace evenpack::worker {

SoftmaxKernels Avx512SoftmaxKernels() { return SoftmaxLanes<16>::Kernels("AVX-512"); }

}  // namespace evenpack::worker
