#include "server/core/sharding/sequence_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace evenpack {
namespace {

TEST(SequencePlanTest, APaddedSequenceIsCutWithItsPadding) {
  ShardPlan plan =
      *PlanSequence(Sharding::kPerSequence, std::vector<uint32_t>{9}, 2, 4);
  EXPECT_EQ(plan.slot_starts, (std::vector<uint64_t>{0, 3, 6, 9, 9}));
  plan.padded_tokens = 24;
  CutSequence(plan);
  EXPECT_EQ(plan.slot_starts, (std::vector<uint64_t>{0, 6, 9, 9, 9}));
}

TEST(SequencePlanTest, APaddingFreeSequenceIsCutWithoutWhatLiesBehindIt) {
  ShardPlan plan = *PlanSequence(Sharding::kContiguous, std::vector<uint32_t>{9}, 2, 0);
  plan.padded_tokens = 24;
  CutSequence(plan);
  EXPECT_EQ(plan.slot_starts, (std::vector<uint64_t>{0, 3, 5, 7, 9}));
}

}  // namespace
}  // namespace evenpack
