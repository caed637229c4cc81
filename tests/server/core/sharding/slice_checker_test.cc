#include "server/core/sharding/slice_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;

TEST(LeastPaddedTokensTest, PadsTheSequenceOrEachDocument) {
  const std::vector<uint64_t> starts = {0, 5, 6, 14};
  for (const Sharding sharding : kPlannedShardings) {
    EXPECT_EQ(LeastPaddedTokens(starts, sharding, 0), 14u);
  }
  EXPECT_EQ(LeastPaddedTokens(starts, Sharding::kPerSequence, 4), 16u);
  EXPECT_EQ(LeastPaddedTokens(starts, Sharding::kContiguous, 4), 16u);
  EXPECT_EQ(LeastPaddedTokens(starts, Sharding::kPerDocument, 4), 8u + 4 + 8);
}

TEST(SliceCheckerTest, TakesTheSlotsInOrderWithTheirOwnersSlices) {
  const struct {
    Sharding sharding;
    std::vector<size_t> owners;
  } rows[] = {{Sharding::kPerDocument, {0, 1, 1, 0}},
              {Sharding::kContiguous, {0, 0, 1, 1}}};
  for (const auto& row : rows) {
    const ShardPlan plan = PlanOf(row.sharding, {7, 2, 5}, 2);
    const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
    SliceChecker checker(plan.document_starts, plan.sharding, 2, 0, 14);
    for (const size_t owner : row.owners) {
      EXPECT_TRUE(checker.CheckNextSlot(ranks[owner]).ok());
    }
    EXPECT_TRUE(checker.Finish().ok());
  }
}

TEST(SliceCheckerTest, ASlotOfAnotherRankIsOutOfPlace) {
  const ShardPlan plan = PlanOf(Sharding::kPerDocument, {7, 2, 5}, 2);
  SliceChecker checker(plan.document_starts, plan.sharding, 2, 0, 14);
  const absl::Status status = checker.CheckNextSlot(ExpandRank(plan, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 0, document 0, token 2: the slice begins here, but token "
                        "0 is in no earlier slot"));
}

TEST(SliceCheckerTest, MissingSlotsAreAnError) {
  const ShardPlan plan = PlanOf(Sharding::kPerSequence, {8}, 2);
  SliceChecker checker(plan.document_starts, plan.sharding, 2, 0, 8);
  ASSERT_TRUE(checker.CheckNextSlot(ExpandRank(plan, 0)).ok());
  const absl::Status status = checker.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 slots were given, context_parallel 2 has 4"));
}

}  // namespace
}  // namespace evenpack
