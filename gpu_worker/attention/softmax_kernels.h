// The kernels of softmax_row.h, compiled for each generation of processors.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_KERNELS_H_
#define EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_KERNELS_H_

#include <cstddef>
#include <vector>

namespace evenpack::worker {

// As the functions of softmax_row.h have them.
struct SoftmaxKernels {
  const char* vectors = nullptr;
  float (*largest_of)(const float* values, size_t count) = nullptr;
  float (*exponentiate_row)(float* values, size_t count, float minus) = nullptr;
  void (*weigh_row)(float* values, const float* factors, size_t count,
                    float minus) = nullptr;
};

// Those that the processor at hand can run, the widest vectors first; at least one.
// They compute the same to the last bit.
std::vector<SoftmaxKernels> SoftmaxKernelsHere();

// Of x86-64 alone; only for a processor that has what their files are compiled for.
SoftmaxKernels Avx2SoftmaxKernels();
SoftmaxKernels Avx512SoftmaxKernels();

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_KERNELS_H_
