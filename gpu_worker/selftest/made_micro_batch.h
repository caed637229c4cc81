// A made-up micro-batch: the tensors of each rank, and what attention makes of them by
// its definition.
#ifndef EVENPACK_GPU_WORKER_SELFTEST_MADE_MICRO_BATCH_H_
#define EVENPACK_GPU_WORKER_SELFTEST_MADE_MICRO_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/reference/reference_attention.h"
#include "gpu_worker/reference/synthetic_tensor.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack::worker {

// Never refused: lengths are at least 1. Not adaptive. Hybrid has no padding and may
// come out as another sharding.
ShardPlan Planned(Sharding sharding, const std::vector<uint32_t>& lengths,
                  uint32_t context_parallel, uint32_t pad_to = 0);

// A rank's tensors. What is computed and the padding begin as NaNs.
struct RankTensors {
  // With `held_rows` rows each; the first are the rank's tokens in local order.
  std::vector<char> query;
  std::vector<char> key;
  std::vector<char> value;
  std::vector<char> output_gradient;
  std::vector<char> output;
  std::vector<float> log_sum_exp;
  std::vector<char> query_gradient;
  std::vector<char> key_gradient;
  std::vector<char> value_gradient;

  AttentionInput input() const { return {query.data(), key.data(), value.data()}; }
  AttentionOutput result() { return {output.data(), log_sum_exp.data()}; }
  AttentionGradients gradients() {
    return {query_gradient.data(), key_gradient.data(), value_gradient.data()};
  }
};

// The largest difference from the reference, over the largest of its numbers, or 0.1
// where that is less.
struct AttentionErrors {
  double output = 0;
  double log_sum_exp = 0;
  double query_gradient = 0;
  double key_gradient = 0;
  double value_gradient = 0;

  double Largest() const;
  // Each the larger of both.
  void Merge(const AttentionErrors& other);
};

// What all of them stay below where tensors hold the type and computing is in single
// precision: some last places of the results.
constexpr double AcceptedError(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 1e-5;
    case ElementType::kBfloat16:
      return 1e-2;
    case ElementType::kFloat16:
      return 2e-3;
  }
  return 0;
}

// The same of cuDNN, which rounds to the tensors' type what it computes between as
// well: weights, and what each query head adds to the gradients of a key.
constexpr double AcceptedErrorOfCudnn(ElementType type) {
  return 2 * AcceptedError(type);
}

class MadeMicroBatch {
 public:
  MadeMicroBatch(const AttentionShape& shape, std::vector<uint32_t> lengths,
                 uint64_t seed);

  const std::vector<uint32_t>& lengths() const { return lengths_; }
  RankTensors OfRank(const ShardPlan& plan, uint32_t rank) const;

  // Of one rank; infinite where a number is none, or a row of padding not 0.
  AttentionErrors Compare(const ShardPlan& plan, uint32_t rank,
                          const RankTensors& tensors) const;
  // Over all ranks.
  AttentionErrors Compare(const ShardPlan& plan,
                          const std::vector<RankTensors>& ranks) const;

 private:
  // Calls visit(row in the micro-batch, row at the rank) for the rank's tokens.
  template <typename Visit>
  void ForEachRow(const ShardPlan& plan, uint32_t rank, Visit visit) const;

  const AttentionShape shape_;
  const std::vector<uint32_t> lengths_;
  ReferenceInput input_;
  std::vector<double> output_gradient_;
  ReferenceOutput output_;
  ReferenceGradients gradients_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SELFTEST_MADE_MICRO_BATCH_H_
