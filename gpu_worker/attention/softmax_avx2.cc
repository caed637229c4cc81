#include "gpu_worker/attention/softmax_kernels.h"
#include "gpu_worker/attention/softmax_lanes.h"

namespace evenpack::worker {

SoftmaxKernels Avx2SoftmaxKernels() { return SoftmaxLanes<8>::Kernels("AVX2"); }

}  // namespace evenpack::worker
