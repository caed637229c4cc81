#include "server/core/sharding/slice_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;

TEST(PaddedTokensTest, PadsTheSequenceOrEachDocument) {
  const std::vector<uint64_t> starts = {0, 5, 6, 14};
  EXPECT_EQ(PaddedTokens(starts, Sharding::kPerSequence, 0), 14u);
  EXPECT_EQ(PaddedTokens(starts, Sharding::kPerDocument, 0), 14u);
  EXPECT_EQ(PaddedTokens(starts, Sharding::kPerSequence, 4), 16u);
  EXPECT_EQ(PaddedTokens(starts, Sharding::kPerDocument, 4), 8u + 4 + 8);
}

TEST(SliceCheckerTest, TakesTheSlotsInOrderWithTheirOwnersSlices) {
  const ShardPlan plan = PlanOf(Sharding::kPerDocument, {7, 2, 5}, 2);
  const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
  SliceChecker checker(plan.document_starts, plan.sharding, 2, 0);
  for (const size_t owner : {0u, 1u, 1u, 0u}) {
    EXPECT_TRUE(checker.CheckNextSlot(ranks[owner]).ok());
  }
  EXPECT_TRUE(checker.Finish().ok());
}

TEST(SliceCheckerTest, ASlotOfAnotherRankIsOutOfPlace) {
  const ShardPlan plan = PlanOf(Sharding::kPerDocument, {7, 2, 5}, 2);
  SliceChecker checker(plan.document_starts, plan.sharding, 2, 0);
  const absl::Status status = checker.CheckNextSlot(ExpandRank(plan, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0, document 0, token 2: the slice begins here, but token "
                        "0 is in no earlier slot"));
}

TEST(SliceCheckerTest, MissingSlotsAreAnError) {
  const ShardPlan plan = PlanOf(Sharding::kPerSequence, {8}, 2);
  SliceChecker checker(plan.document_starts, plan.sharding, 2, 0);
  ASSERT_TRUE(checker.CheckNextSlot(ExpandRank(plan, 0)).ok());
  const absl::Status status = checker.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 slots were given, context_parallel 2 has 4"));
}

}  // namespace
}  // namespace evenpack
