#include "gpu_worker/selftest/made_micro_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace evenpack::worker {
namespace {

AttentionShape SmallShape(ElementType type = ElementType::kFloat32) {
  AttentionShape shape;
  shape.type = type;
  shape.query_heads = 2;
  return shape;
}

// What the definition gives, as each rank would hold it.
std::vector<RankTensors> Perfect(const MadeMicroBatch& made, const ShardPlan& plan) {
  std::vector<RankTensors> ranks;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ranks.push_back(made.OfRank(plan, rank));
  }
  return ranks;
}

TEST(MadeMicroBatchTest, ARowsNumbersAreTheSameOnEachRankAndUnderEachPlan) {
  const std::vector<uint32_t> lengths = {6, 4};
  const MadeMicroBatch made(SmallShape(), lengths, 1);
  const ShardPlan alone = Planned(Sharding::kPerSequence, lengths, 1);
  const ShardPlan cut = Planned(Sharding::kContiguous, lengths, 2);
  const RankTensors whole = made.OfRank(alone, 0);
  const RankTensors second = made.OfRank(cut, 1);
  EXPECT_EQ(std::vector<char>(whole.key.begin() + 5 * 64 * 4, whole.key.end()),
            second.key);
}

TEST(MadeMicroBatchTest, WhatIsComputedAndPaddingBeginAsNaNs) {
  const std::vector<uint32_t> lengths = {3};
  const MadeMicroBatch made(SmallShape(), lengths, 1);
  const ShardPlan plan = Planned(Sharding::kPerSequence, lengths, 1, 4);
  const RankTensors tensors = made.OfRank(plan, 0);
  std::vector<float> key(4 * 64);
  Load(ElementType::kFloat32, tensors.key.data(), key.size(), key.data());
  EXPECT_FALSE(std::isnan(key[3 * 64 - 1]));
  EXPECT_TRUE(std::isnan(key[3 * 64]));
  EXPECT_TRUE(std::isnan(tensors.log_sum_exp[0]));
}

TEST(MadeMicroBatchTest, NothingComputedIsAnInfiniteError) {
  const std::vector<uint32_t> lengths = {5, 2};
  const MadeMicroBatch made(SmallShape(ElementType::kBfloat16), lengths, 1);
  const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, 2);
  const AttentionErrors errors = made.Compare(plan, Perfect(made, plan));
  for (const double error : {errors.output, errors.log_sum_exp, errors.query_gradient,
                             errors.key_gradient, errors.value_gradient}) {
    EXPECT_EQ(error, std::numeric_limits<double>::infinity());
  }
}

TEST(MadeMicroBatchTest, ErrorsAreMergedOneByOne) {
  AttentionErrors errors = {1, 2, 3, 4, 5};
  errors.Merge({5, 4, 3, 2, 1});
  EXPECT_EQ(errors.output, 5);
  EXPECT_EQ(errors.log_sum_exp, 4);
  EXPECT_EQ(errors.query_gradient, 3);
  EXPECT_EQ(errors.key_gradient, 4);
  EXPECT_EQ(errors.value_gradient, 5);
  EXPECT_EQ(errors.Largest(), 5);
}

TEST(MadeMicroBatchTest, PaddingThatIsNotNoughtIsAnInfiniteError) {
  // No document's token, padding alone at the second rank.
  const std::vector<uint32_t> lengths = {1};
  const MadeMicroBatch made(SmallShape(), lengths, 1);
  const ShardPlan plan = Planned(Sharding::kContiguous, lengths, 2);
  RankTensors tensors = made.OfRank(plan, 1);
  ASSERT_EQ(HeldTokens(plan, 1), 0U);
  EXPECT_EQ(made.Compare(plan, 1, tensors).Largest(), 0);
  const ShardPlan padded = Planned(Sharding::kContiguous, lengths, 2, 4);
  tensors = made.OfRank(padded, 1);
  EXPECT_EQ(made.Compare(padded, 1, tensors).Largest(),
            std::numeric_limits<double>::infinity());
  std::fill(tensors.log_sum_exp.begin(), tensors.log_sum_exp.end(), 0.0F);
  for (auto* rows : {&tensors.output, &tensors.query_gradient, &tensors.key_gradient,
                     &tensors.value_gradient}) {
    std::fill(rows->begin(), rows->end(), '\0');
  }
  EXPECT_EQ(made.Compare(padded, 1, tensors).Largest(), 0);
}

}  // namespace
}  // namespace evenpack::worker
