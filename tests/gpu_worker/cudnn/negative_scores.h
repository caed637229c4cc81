// Attention whose scores are all far below nought, on a device and on the processor: a
// row's log-sum-exp is then below -88.7, and exp(0 - log-sum-exp), as of a key that a
// kernel should have masked and has not, is no number of single precision.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_

#include <cstdint>
#include <string>

#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/selftest/made_micro_batch.h"

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

// Of the device from the processor, infinite where the device gave what isn't finite;
// of gradients of queries but for each head's first number, which is a difference of
// large ones.
// Adds failures of the calling test where a call fails.
worker::AttentionErrors ErrorsOf(worker::CudaRank& rank, const NegativeScores& of);
// As a test expects them.
void ExpectSmall(const worker::AttentionErrors& errors, const NegativeScores& of);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDNN_NEGATIVE_SCORES_H_
