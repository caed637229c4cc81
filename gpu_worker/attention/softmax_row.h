// The element-wise half of a softmax, a row at a time.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_ROW_H_
#define EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_ROW_H_

#include <cstddef>

namespace evenpack::worker {

// The largest of `count` values, at least 1.
float LargestOf(const float* values, size_t count);

// Replaces each value x by e^(x - minus), within two units in the last place for
// differences of at most 0 and above -87; below it is 0. Returns the sum.
float ExponentiateRow(float* values, size_t count, float minus);

// values[i] = factors[i] * (values[i] - minus).
void WeighRow(float* values, const float* factors, size_t count, float minus);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_SOFTMAX_ROW_H_
