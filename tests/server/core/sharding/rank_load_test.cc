#include "server/core/sharding/rank_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

TEST(RankLoadTest, CountsTheCausalPairsOfEachSlice) {
  RankSlices slices;
  slices.document = {0, 3};
  slices.begin = {2, 0};
  slices.end = {5, 4};
  slices.tokens = 7;
  slices.padding = 2;
  // Tokens 2, 3, 4 see 3 + 4 + 5 keys; tokens 0 to 3 see 1 + 2 + 3 + 4.
  EXPECT_EQ(LoadOf(slices), (RankLoad{7, 2, 22, 2}));
  EXPECT_EQ(LoadOf(RankSlices{}), RankLoad{});
}

TEST(RankLoadTest, PairsAreExactForTheLongestDocumentAndCappedBeyond64Bits) {
  constexpr uint64_t kLongest = 2147483647;
  RankSlices slices;
  const auto add = [&slices] {
    slices.document.push_back(static_cast<uint32_t>(slices.size()));
    slices.begin.push_back(0);
    slices.end.push_back(kLongest);
  };
  add();
  EXPECT_EQ(LoadOf(slices).attended_pairs, kLongest * (kLongest + 1) / 2);
  for (int i = 0; i < 7; ++i) add();
  EXPECT_EQ(LoadOf(slices).attended_pairs, kLongest * (kLongest + 1) / 2 * 8);
  add();
  EXPECT_EQ(LoadOf(slices).attended_pairs, std::numeric_limits<uint64_t>::max());
}

TEST(RankLoadTest, RanksTogetherHaveEveryTokenAndPair) {
  std::mt19937_64 random(17);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    const std::vector<uint32_t> lengths = RandomLengths(random, 2 * context_parallel);
    uint64_t tokens = 0;
    uint64_t pairs = 0;
    for (const uint64_t length : lengths) {
      tokens += length;
      pairs += length * (length + 1) / 2;
    }
    for (const Sharding sharding : kPlannedShardings) {
      for (const uint32_t pad_to : {0u, 1u, 48u}) {
        const ShardPlan plan = PlanOf(sharding, lengths, context_parallel, pad_to);
        RankLoad sum;
        for (const RankLoad& load : RankLoads(plan)) {
          sum.tokens += load.tokens;
          sum.padding += load.padding;
          sum.attended_pairs += load.attended_pairs;
        }
        ASSERT_EQ(sum.tokens, tokens);
        ASSERT_EQ(sum.attended_pairs, pairs);
        ASSERT_EQ(sum.tokens + sum.padding, plan.padded_tokens);
      }
    }
  }
}

}  // namespace
}  // namespace evenpack
