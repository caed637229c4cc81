#include "tests/gpu_worker/cuda/fake_kernels.h"

namespace evenpack::testing {

const std::vector<FakeKernel>& FakeKernels() {
  static const std::vector<FakeKernel> kKernels;
  return kKernels;
}

}  // namespace evenpack::testing
