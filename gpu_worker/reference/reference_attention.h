// Attention by its definition, in double precision: what every engine is held to.
#ifndef EVENPACK_GPU_WORKER_REFERENCE_REFERENCE_ATTENTION_H_
#define EVENPACK_GPU_WORKER_REFERENCE_REFERENCE_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_worker/attention/attention_shape.h"

namespace evenpack::worker {

// THD tensors of a whole micro-batch: documents one after another, a row for each
// token.
struct ReferenceInput {
  // Of documents, in tokens.
  std::span<const uint32_t> lengths;
  std::vector<double> query;
  std::vector<double> key;
  std::vector<double> value;
};

struct ReferenceOutput {
  std::vector<double> output;
  // A number for each row and query head.
  std::vector<double> log_sum_exp;
};

struct ReferenceGradients {
  std::vector<double> query;
  std::vector<double> key;
  std::vector<double> value;
};

// Time: the sum of squared lengths times query heads times head size. The element type
// of the shape does not count.
ReferenceOutput ReferenceForward(const AttentionShape& shape,
                                 const ReferenceInput& input);
ReferenceGradients ReferenceBackward(const AttentionShape& shape,
                                     const ReferenceInput& input,
                                     std::span<const double> output_gradient);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_REFERENCE_REFERENCE_ATTENTION_H_
