// Kernels' host forms, which the double of the driver runs in their place.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_KERNELS_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evenpack::testing {

struct FakeKernel {
  const char* name = nullptr;
  // Of its one argument.
  size_t argument_bytes = 0;
  // The whole grid, which is of so many blocks.
  void (*run)(const void* argument, uint64_t blocks) = nullptr;
};

const std::vector<FakeKernel>& FakeKernels();

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_KERNELS_H_
