#include "gpu_worker/attention/softmax_row.h"

#include "gpu_worker/attention/softmax_kernels.h"

namespace evenpack::worker {
namespace {

const SoftmaxKernels& Widest() {
  static const SoftmaxKernels kKernels = SoftmaxKernelsHere().front();
  return kKernels;
}

}  // namespace

float LargestOf(const float* values, size_t count) {
  return Widest().largest_of(values, count);
}

float ExponentiateRow(float* values, size_t count, float minus) {
  return Widest().exponentiate_row(values, count, minus);
}

void WeighRow(float* values, const float* factors, size_t count, float minus) {
  Widest().weigh_row(values, factors, count, minus);
}

}  // namespace evenpack::worker
