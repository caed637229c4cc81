#include "server/core/sharding/per_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(PerSequenceTest, CutsTheSequenceInContiguousSlots) {
  struct Row {
    const char* name;
    std::vector<uint32_t> lengths;
    uint32_t context_parallel, pad_to;
    std::vector<uint64_t> slot_starts;
    uint64_t padded_tokens;
  };
  const Row rows[] = {
      {"even", {5, 3}, 2, 0, {0, 2, 4, 6, 8}, 8},
      {"one left over", {5, 4}, 2, 0, {0, 3, 5, 7, 9}, 9},
      {"left over on every rank and once more", {11}, 2, 0, {0, 3, 6, 9, 11}, 11},
      {"fewer tokens than slots", {1, 1}, 2, 0, {0, 1, 2, 2, 2}, 2},
      {"one rank", {4, 3}, 1, 0, {0, 4, 7}, 7},
      {"no documents", {}, 2, 0, {0, 0, 0, 0, 0}, 0},
      {"padded", {5, 4}, 2, 1, {0, 3, 6, 9, 9}, 12},
      {"whole slots of padding", {3}, 2, 8, {0, 2, 3, 3, 3}, 8},
      {"padded, nothing to do", {16}, 2, 16, {0, 4, 8, 12, 16}, 16},
      {"padded, no documents", {}, 2, 16, {0, 0, 0, 0, 0}, 0},
  };
  for (const Row& row : rows) {
    const ShardPlan plan =
        *PlanPerSequence(row.lengths, row.context_parallel, row.pad_to);
    EXPECT_EQ(plan.slot_starts, row.slot_starts) << row.name;
    EXPECT_EQ(plan.padded_tokens, row.padded_tokens) << row.name;
    EXPECT_EQ(plan.sharding, Sharding::kPerSequence);
    EXPECT_EQ(plan.context_parallel, row.context_parallel);
  }
}

TEST(PerSequenceTest, FillsNoColumnOfPerDocument) {
  const ShardPlan plan = *PlanPerSequence(std::vector<uint32_t>{5, 3}, 2, 0);
  EXPECT_THAT(plan.document_starts, ElementsAre(0, 5, 8));
  EXPECT_TRUE(plan.slot_tokens.empty());
  EXPECT_TRUE(plan.left_over.empty());
  EXPECT_TRUE(plan.cursor.empty());
}

TEST(PerSequenceTest, SlotsAndRanksStayWithinOneTokenForEveryRemainder) {
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    const uint32_t slots = 2 * context_parallel;
    for (uint32_t left_over = 0; left_over < slots; ++left_over) {
      const uint64_t tokens = 3 * slots + left_over;
      const ShardPlan plan = *PlanPerSequence(
          std::vector<uint32_t>{static_cast<uint32_t>(tokens)}, context_parallel, 0);
      std::vector<uint64_t> slot_sizes;
      for (uint32_t slot = 0; slot < slots; ++slot) {
        slot_sizes.push_back(plan.slot_starts[slot + 1] - plan.slot_starts[slot]);
      }
      const auto [least, most] =
          std::minmax_element(slot_sizes.begin(), slot_sizes.end());
      ASSERT_LE(*most - *least, 1u) << context_parallel << " " << left_over;
      std::vector<uint64_t> rank_sizes;
      for (uint32_t rank = 0; rank < context_parallel; ++rank) {
        rank_sizes.push_back(slot_sizes[rank] + slot_sizes[slots - 1 - rank]);
      }
      const auto [low, high] =
          std::minmax_element(rank_sizes.begin(), rank_sizes.end());
      ASSERT_LE(*high - *low, 1u) << context_parallel << " " << left_over;
    }
  }
}

TEST(PerSequenceTest, PaddingGivesEveryRankTheSameTokens) {
  const std::vector<uint32_t> lengths = {700, 1, 299};
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    for (const uint32_t pad_to : {1u, 3u, 64u, 128u}) {
      const ShardPlan plan = *PlanPerSequence(lengths, context_parallel, pad_to);
      std::vector<uint64_t> held;
      for (const RankSlices& rank : ExpandAllRanks(plan)) {
        held.push_back(rank.tokens + rank.padding);
      }
      EXPECT_THAT(held, Each(plan.padded_tokens / context_parallel));
      EXPECT_EQ(plan.padded_tokens % pad_to, 0u);
      EXPECT_EQ(plan.padded_tokens % (2 * context_parallel), 0u);
      EXPECT_LT(plan.padded_tokens - plan.tokens(), plan.pad_multiple);
    }
  }
}

TEST(PerSequenceTest, RefusesBadArguments) {
  const std::vector<uint32_t> lengths = {1, 0};
  EXPECT_EQ(PlanPerSequence(lengths, 2, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(PlanPerSequence({}, 0, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace evenpack
