#include "gpu_worker/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace evenpack::worker {
namespace {

// One query under one head: what it sees, with the softmax over it.
class Query {
 public:
  Query(const AttentionShape& shape, const ReferenceInput& input, size_t document_row,
        uint32_t position, uint32_t head)
      : shape_(shape),
        input_(input),
        first_key_row_(document_row + shape.FirstKey(position)),
        kv_column_(size_t{head / shape.group_size()} * shape.head_size),
        query_((document_row + position) * shape.query_row() +
               size_t{head} * shape.head_size),
        probabilities_(position - shape.FirstKey(position) + 1) {
    for (size_t j = 0; j < probabilities_.size(); ++j) {
      probabilities_[j] = scale() * Dot(input.query, query_, input.key, KvAt(j));
    }
    const double largest =
        *std::max_element(probabilities_.begin(), probabilities_.end());
    for (double& score : probabilities_) score = std::exp(score - largest);
    const double sum =
        std::accumulate(probabilities_.begin(), probabilities_.end(), 0.0);
    for (double& probability : probabilities_) probability /= sum;
    log_sum_exp_ = largest + std::log(sum);
  }

  double log_sum_exp() const { return log_sum_exp_; }

  // Of the head, in the tensor of outputs.
  void AddOutput(std::vector<double>& output) const {
    for (size_t j = 0; j < probabilities_.size(); ++j) {
      AddTo(output, query_, probabilities_[j], input_.value, KvAt(j));
    }
  }

  void AddGradients(std::span<const double> output_gradient,
                    ReferenceGradients& gradients) const {
    // Of the probabilities, and their mean under these.
    std::vector<double> of_probability(probabilities_.size());
    double mean = 0;
    for (size_t j = 0; j < of_probability.size(); ++j) {
      of_probability[j] = Dot(output_gradient, query_, input_.value, KvAt(j));
      mean += probabilities_[j] * of_probability[j];
    }
    for (size_t j = 0; j < of_probability.size(); ++j) {
      AddTo(gradients.value, KvAt(j), probabilities_[j], output_gradient, query_);
      const double of_score = scale() * probabilities_[j] * (of_probability[j] - mean);
      AddTo(gradients.query, query_, of_score, input_.key, KvAt(j));
      AddTo(gradients.key, KvAt(j), of_score, input_.query, query_);
    }
  }

 private:
  double scale() const {
    if (shape_.scale != 0) return shape_.scale;
    return 1 / std::sqrt(static_cast<double>(shape_.head_size));
  }
  // Where the j-th key that is seen begins.
  size_t KvAt(size_t j) const {
    return (first_key_row_ + j) * shape_.kv_row() + kv_column_;
  }
  double Dot(std::span<const double> a, size_t at_a, std::span<const double> b,
             size_t at_b) const {
    double sum = 0;
    for (size_t i = 0; i < shape_.head_size; ++i) sum += a[at_a + i] * b[at_b + i];
    return sum;
  }
  void AddTo(std::vector<double>& to, size_t at_to, double factor,
             std::span<const double> from, size_t at_from) const {
    for (size_t i = 0; i < shape_.head_size; ++i) {
      to[at_to + i] += factor * from[at_from + i];
    }
  }

  const AttentionShape& shape_;
  const ReferenceInput& input_;
  const size_t first_key_row_;
  const size_t kv_column_;
  const size_t query_;
  std::vector<double> probabilities_;
  double log_sum_exp_ = 0;
};

// visit(query, row, head) for all of them.
template <typename Visit>
void ForEachQuery(const AttentionShape& shape, const ReferenceInput& input,
                  Visit visit) {
  size_t document_row = 0;
  for (const uint32_t length : input.lengths) {
    for (uint32_t position = 0; position < length; ++position) {
      for (uint32_t head = 0; head < shape.query_heads; ++head) {
        visit(Query(shape, input, document_row, position, head),
              document_row + position, head);
      }
    }
    document_row += length;
  }
}

}  // namespace

ReferenceOutput ReferenceForward(const AttentionShape& shape,
                                 const ReferenceInput& input) {
  ReferenceOutput result;
  result.output.assign(input.query.size(), 0);
  result.log_sum_exp.assign(input.query.size() / shape.head_size, 0);
  ForEachQuery(shape, input, [&](const Query& query, size_t row, uint32_t head) {
    query.AddOutput(result.output);
    result.log_sum_exp[row * shape.query_heads + head] = query.log_sum_exp();
  });
  return result;
}

ReferenceGradients ReferenceBackward(const AttentionShape& shape,
                                     const ReferenceInput& input,
                                     std::span<const double> output_gradient) {
  ReferenceGradients gradients;
  gradients.query.assign(input.query.size(), 0);
  gradients.key.assign(input.key.size(), 0);
  gradients.value.assign(input.value.size(), 0);
  ForEachQuery(shape, input, [&](const Query& query, size_t, uint32_t) {
    query.AddGradients(output_gradient, gradients);
  });
  return gradients;
}

}  // namespace evenpack::worker
