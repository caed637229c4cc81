#include "server/core/sharding/plan_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "server/core/sharding/hybrid.h"
#include "server/core/sharding/pad_end.h"
#include "tests/server/core/sharding/random_lengths.h"
#include "tests/server/core/sharding/tile_table.h"

namespace evenpack {
namespace {

Digest128 DigestOfWords(std::initializer_list<uint64_t> words) {
  DigestBuilder builder;
  for (const uint64_t word : words) builder.Word(word);
  return builder.Finish();
}

constexpr uint64_t High(uint64_t number) { return number << 32; }

TEST(PlanDigestTest, HashesTheWordsOfItsLayout) {
  EXPECT_EQ(PlanDigest(PlanOf(Sharding::kPerSequence, {5, 3}, 2)),
            DigestOfWords({1, 0 | High(2), 0, 8, 2, 5, 3, 0, 2, 4, 6, 8}));
  EXPECT_EQ(PlanDigest(PlanOf(Sharding::kPerDocument, {7, 2}, 2)),
            DigestOfWords({1, 1 | High(2), 0, 9, 2, 7 | High(1), 3 | High(0),
                           2 | High(0), 2 | High(3)}));
  EXPECT_EQ(PlanDigest(PlanOf(Sharding::kPerDocument, {7, 2}, 2, 1)),
            DigestOfWords({1, 1 | High(2), 4, 12, 2, 7 | High(2), 0, 2 | High(1), 0}));
}

TEST(PlanDigestTest, ContiguousAndPaddedEndsHashTheSameWords) {
  ShardPlan plan = PlanOf(Sharding::kContiguous, {5, 3}, 2, 4);
  EXPECT_EQ(PlanDigest(plan),
            DigestOfWords({1, 3 | High(2), 4, 8, 2, 5, 3, 0, 2, 4, 6, 8}));
  ASSERT_TRUE(PadEnd(16, plan).ok());
  EXPECT_EQ(PlanDigest(plan),
            DigestOfWords({1, 3 | High(2), 4, 16, 2, 5, 3, 0, 4, 8, 8, 8}));
}

ShardPlan HybridPlan() {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = 2;
  plan.document_starts = {0, 5, 13};
  plan.padded_tokens = 13;
  plan.owner = {1, kCutDocument};
  plan.slot_starts = {0, 10, 20, 30, kWholeShare};
  return plan;
}

TEST(PlanDigestTest, HybridHashesOwnersAndShares) {
  EXPECT_EQ(PlanDigest(HybridPlan()),
            DigestOfWords({1, 4 | High(2), 0, 13, 2, 5 | High(1), 8 | High(65535), 0,
                           10, 20, 30, kWholeShare}));
  EXPECT_EQ(ToHex(PlanDigest(HybridPlan())), "4102d41d6e3b1c79c940c5198205417c");
}

// What is decided, too, is the same with every compiler.
TEST(PlanDigestTest, GoldenValueOfAChosenMix) {
  std::vector<uint32_t> lengths(40, 900);
  lengths[7] = 40'000;
  lengths[20] = 9'000;
  const ShardPlan plan =
      ChooseHybrid(lengths, 4, 0, OneNanosecondPerTile(), {.cut_token_ps = 100})->plan;
  ASSERT_EQ(plan.sharding, Sharding::kHybrid);
  EXPECT_EQ(ToHex(PlanDigest(plan)), "c3330a3fd71848e79f1482958beb37f7");
}

TEST(PlanDigestTest, SlicesHashTheWordsOfTheirLayout) {
  EXPECT_EQ(
      RankSlicesDigest(1, ExpandRank(PlanOf(Sharding::kPerSequence, {5, 3}, 2), 1)),
      DigestOfWords({1, 1, 3, 1, 4, 0, 0, 2 | High(4), 0, 4 | High(5), 1, High(1)}));
}

TEST(PlanDigestTest, GoldenValues) {
  const std::vector<uint32_t> lengths = {7, 2, 5, 4, 3};
  EXPECT_EQ(ToHex(PlanDigest(PlanOf(Sharding::kPerSequence, lengths, 2))),
            "1d6cbd25ae66a1f4fafcd1904617ee6d");
  EXPECT_EQ(ToHex(PlanDigest(PlanOf(Sharding::kPerDocument, lengths, 2))),
            "a93cb2990733f1bf76cfbeb740a9a2b3");
  EXPECT_EQ(ToHex(RankSlicesDigest(
                1, ExpandRank(PlanOf(Sharding::kPerDocument, lengths, 2), 1))),
            "63d9b46fbef62e6e32fb45471308a033");
}

TEST(PlanDigestTest, DifferentPlansDiffer) {
  std::set<std::string> digests;
  size_t plans = 0;
  for (const Sharding sharding : kPlannedShardings) {
    for (const uint32_t context_parallel : {1u, 2u, 3u}) {
      for (const uint32_t pad_to : {0u, 1u, 7u}) {
        for (const std::vector<uint32_t>& lengths : AwkwardLengths()) {
          digests.insert(
              ToHex(PlanDigest(PlanOf(sharding, lengths, context_parallel, pad_to))));
          ++plans;
        }
      }
    }
  }
  EXPECT_EQ(digests.size(), plans);
}

}  // namespace
}  // namespace evenpack
