#include "server/core/sharding/pad_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/sharding/validate_plan.h"
#include "tests/server/core/sharding/random_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::IsOk;
using testing::StatusIs;

std::vector<uint64_t> Held(const ShardPlan& plan) {
  std::vector<uint64_t> held;
  for (const RankSlices& rank : ExpandAllRanks(plan)) {
    held.push_back(rank.tokens + rank.padding);
  }
  return held;
}

TEST(PadEndTest, ASequenceIsCutAnew) {
  ShardPlan plan = PlanOf(Sharding::kPerSequence, {5, 4}, 2, 4);
  ASSERT_THAT(PadEnd(20, plan), IsOk());
  EXPECT_THAT(plan.slot_starts, ElementsAre(0, 5, 9, 9, 9));
  EXPECT_THAT(Held(plan), Each(10));
}

TEST(PadEndTest, TheLastDocumentsRangeTakesIt) {
  ShardPlan plan = PlanOf(Sharding::kPerDocument, {5, 4}, 2, 4);
  ASSERT_THAT(plan.slot_tokens, ElementsAre(2, 1));
  ASSERT_THAT(PadEnd(20, plan), IsOk());
  EXPECT_THAT(plan.slot_tokens, ElementsAre(2, 3));
  EXPECT_THAT(Held(plan), Each(10));
  // Slots of 3: tokens 0 to 2 of the last document are rank 0's, token 3 rank 1's.
  EXPECT_THAT(ExpandRank(plan, 0).end, ElementsAre(2, 3));
  EXPECT_THAT(ExpandRank(plan, 1).end, ElementsAre(4, 4, 5));
}

TEST(PadEndTest, PaddingFreeRanksHoldItEvenly) {
  const struct {
    Sharding sharding;
    uint32_t length;
    uint64_t padded;
    std::vector<uint64_t> padding;
  } rows[] = {
      // Ranks of 3, 3 and 4 tokens.
      {Sharding::kPerSequence, 10, 11, {1, 0, 0}},
      {Sharding::kPerSequence, 10, 12, {1, 1, 0}},
      {Sharding::kPerSequence, 10, 13, {1, 1, 1}},
      {Sharding::kPerSequence, 10, 14, {2, 1, 1}},
      // 11 tokens: of 3, 4 and 4, and contiguous of 4, 4 and 3.
      {Sharding::kPerSequence, 11, 12, {1, 0, 0}},
      {Sharding::kPerSequence, 11, 13, {1, 1, 0}},
      {Sharding::kContiguous, 11, 12, {0, 0, 1}},
      {Sharding::kPerDocument, 11, 12, {1, 0, 0}},
  };
  for (const auto& row : rows) {
    ShardPlan plan = PlanOf(row.sharding, {row.length}, 3);
    const std::vector<RankSlices> before = ExpandAllRanks(plan);
    ASSERT_THAT(PadEnd(row.padded, plan), IsOk());
    const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(ranks[rank].padding, row.padding[rank])
          << row.padded << " rank " << rank;
      EXPECT_EQ(ranks[rank].begin, before[rank].begin);
      EXPECT_EQ(ranks[rank].end, before[rank].end);
    }
  }
}

TEST(PadEndTest, EveryPlanOfRandomLengthsIsValidAndEven) {
  std::mt19937_64 random(71);
  for (const uint32_t context_parallel : {1U, 2U, 3U, 8U, 37U}) {
    for (int round = 0; round < 40; ++round) {
      std::vector<uint32_t> lengths = RandomLengths(random, 2 * context_parallel);
      lengths.push_back(1);
      for (const Sharding sharding : kPlannedShardings) {
        for (const uint32_t pad_to : {0U, 1U, 24U}) {
          ShardPlan plan = PlanOf(sharding, lengths, context_parallel, pad_to);
          const uint64_t multiple = std::max(plan.pad_multiple, 1U);
          const uint64_t padded = plan.padded_tokens + multiple * Draw(random, 90);
          ASSERT_THAT(PadEnd(padded, plan), IsOk());
          ASSERT_EQ(plan.padded_tokens, padded);
          ASSERT_THAT(Validate(plan, lengths), IsOk());
          ASSERT_THAT(ValidateSlices(lengths, sharding, context_parallel, pad_to,
                                     ExpandAllRanks(plan), padded),
                      IsOk());
          const std::vector<uint64_t> held = Held(plan);
          const auto [least, most] = std::minmax_element(held.begin(), held.end());
          ASSERT_LE(*most - *least, pad_to == 0 ? 1U : 0U);
        }
      }
    }
  }
}

TEST(PadEndTest, RefusesWhatIsNoPaddingOfThePlan) {
  ShardPlan plan = PlanOf(Sharding::kPerDocument, {5, 4}, 2, 4);
  ShardPlan empty = PlanOf(Sharding::kPerDocument, {}, 2, 4);
  const ShardPlan before = plan;
  for (const uint64_t padded : {uint64_t{8}, uint64_t{14}, uint64_t{1} << 31}) {
    EXPECT_THAT(PadEnd(padded, plan),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("padded_tokens: ", padded,
                                      " is not accepted; accepted: 12, or a multiple "
                                      "of 4 above that, up to 2147483647")));
  }
  EXPECT_EQ(plan, before);
  EXPECT_THAT(PadEnd(12, plan), IsOk());
  EXPECT_THAT(PadEnd(0, empty), IsOk());
  EXPECT_THAT(PadEnd(8, empty),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("padded_tokens: 8 is not accepted")));
}

}  // namespace
}  // namespace evenpack
