// Attention whose scores are all far below nought, on a device and on the processor: a
// row's log-sum-exp is then below -88.7, and exp(0 - log-sum-exp), as of a key that a
// kernel should have masked and has not, is no number of single precision.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_

#include <cstdint>
#include <string>

#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/cudnn/cuda_rank.h"

namespace evenpack::testing {

// A slice that ends with its document, of two KV heads and twice as many query heads.
struct NegativeScores {
  worker::ElementType type = worker::ElementType::kBfloat16;
  uint32_t head_size = 128;
  uint32_t sliding_window = 0;
  uint32_t length = 0;
  uint32_t begin = 0;
  // About what each score is.
  float score = -120;

  worker::AttentionShape Shape() const;
  std::string Text() const;
};

// The largest differences of both, over the largest number that the processor gave, or
// 0.1 where that is less; infinite where the device gave one that isn't finite.
struct ScoreErrors {
  double output = 0;
  double log_sum_exp = 0;
  // But for each head's first number, which is a difference of large ones.
  double query_gradient = 0;
  double key_gradient = 0;
  double value_gradient = 0;
};

// Adds failures of the calling test where a call fails.
ScoreErrors ErrorsOf(worker::CudaRank& rank, const NegativeScores& of);
// As a test expects them.
void ExpectSmall(const ScoreErrors& errors, const NegativeScores& of);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_
