#include "server/core/sharding/contiguous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

TEST(ContiguousTest, CutsTheSequenceInOneRunForEachRank) {
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
      {"odd runs", {6}, 2, 0, {0, 2, 3, 5, 6}, 6},
      {"fewer tokens than slots", {1, 1}, 2, 0, {0, 1, 1, 2, 2}, 2},
      {"one rank", {4, 3}, 1, 0, {0, 4, 7}, 7},
      {"no documents", {}, 2, 0, {0, 0, 0, 0, 0}, 0},
      {"padded", {5, 4}, 2, 1, {0, 3, 6, 9, 9}, 12},
      {"a whole run of padding", {3}, 2, 8, {0, 2, 3, 3, 3}, 8},
  };
  for (const Row& row : rows) {
    const ShardPlan plan =
        *PlanContiguous(row.lengths, row.context_parallel, row.pad_to);
    EXPECT_EQ(plan.slot_starts, row.slot_starts) << row.name;
    EXPECT_EQ(plan.padded_tokens, row.padded_tokens) << row.name;
    EXPECT_EQ(plan.sharding, Sharding::kContiguous);
  }
}

TEST(ContiguousTest, RanksFollowOneAnotherWithEvenRuns) {
  RankSlices slices;
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    for (uint32_t left_over = 0; left_over < 2 * context_parallel; ++left_over) {
      const uint32_t tokens = 4 * context_parallel + left_over;
      const ShardPlan plan = PlanOf(Sharding::kContiguous, {tokens}, context_parallel);
      uint32_t at = 0;
      for (uint32_t rank = 0; rank < context_parallel; ++rank) {
        ExpandRankInto(plan, rank, slices);
        ASSERT_EQ(slices.begin.front(), at);
        at = slices.end.back();
        ASSERT_GE(slices.tokens, tokens / context_parallel);
        ASSERT_LE(slices.tokens, (tokens + context_parallel - 1) / context_parallel);
      }
      ASSERT_EQ(at, tokens);
    }
  }
}

TEST(ContiguousTest, RefusesBadArguments) {
  EXPECT_EQ(PlanContiguous(std::vector<uint32_t>{0}, 2, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace evenpack
