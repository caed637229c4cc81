#include "server/core/sharding/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Documents of 5, 3 and 8 tokens, CP = 2: slots of the sequence of 16 are 0-4, 4-8,
// 8-12, 12-16, and the second and third document begin at 5 and 8.
TEST(ExpandRankTest, PerSequenceSplitsSlotsAtDocuments) {
  const ShardPlan plan = PlanOf(Sharding::kPerSequence, {5, 3, 8}, 2);
  const RankSlices outer = ExpandRank(plan, 0);
  EXPECT_THAT(outer.document, ElementsAre(0, 2));
  EXPECT_THAT(outer.begin, ElementsAre(0, 4));
  EXPECT_THAT(outer.end, ElementsAre(4, 8));
  EXPECT_EQ(outer.front_slices, 1u);
  const RankSlices inner = ExpandRank(plan, 1);
  EXPECT_THAT(inner.document, ElementsAre(0, 1, 2));
  EXPECT_THAT(inner.begin, ElementsAre(4, 0, 0));
  EXPECT_THAT(inner.end, ElementsAre(5, 3, 4));
  EXPECT_EQ(inner.front_slices, 2u);
  EXPECT_EQ(inner.tokens, 8u);
  EXPECT_EQ(inner.padding, 0u);
}

// The same documents in runs of 8 tokens: slots 0-4 and 4-8 are rank 0's.
TEST(ExpandRankTest, ContiguousRanksHoldOneRunInTokenOrder) {
  const ShardPlan plan = PlanOf(Sharding::kContiguous, {5, 3, 8}, 2);
  const RankSlices first = ExpandRank(plan, 0);
  EXPECT_THAT(first.document, ElementsAre(0, 0, 1));
  EXPECT_THAT(first.begin, ElementsAre(0, 4, 0));
  EXPECT_THAT(first.end, ElementsAre(4, 5, 3));
  EXPECT_EQ(first.front_slices, 1u);
  const RankSlices second = ExpandRank(plan, 1);
  EXPECT_THAT(second.document, ElementsAre(2, 2));
  EXPECT_THAT(second.begin, ElementsAre(0, 4));
  EXPECT_THAT(second.end, ElementsAre(4, 8));
  EXPECT_EQ(second.tokens, 8u);
}

// The first and third document are whole; of the second, of 8 tokens, rank 0 has a
// quarter in front and an eighth at the back.
ShardPlan SmallMix() {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = 2;
  plan.document_starts = {0, 5, 13, 16};
  plan.padded_tokens = 16;
  plan.owner = {1, kCutDocument, 0};
  plan.slot_starts = {0, kWholeShare / 4, kWholeShare / 2, kWholeShare / 8 * 7,
                      kWholeShare};
  return plan;
}

TEST(ExpandRankTest, HybridHasWholeDocumentsInFrontAndPartsOfTheOthers) {
  const RankSlices outer = ExpandRank(SmallMix(), 0);
  EXPECT_THAT(outer.document, ElementsAre(1, 2, 1));
  EXPECT_THAT(outer.begin, ElementsAre(0, 0, 7));
  EXPECT_THAT(outer.end, ElementsAre(2, 3, 8));
  EXPECT_EQ(outer.front_slices, 2u);
  EXPECT_EQ(outer.tokens, 6u);
  const RankSlices inner = ExpandRank(SmallMix(), 1);
  EXPECT_THAT(inner.document, ElementsAre(0, 1, 1));
  EXPECT_THAT(inner.begin, ElementsAre(0, 2, 4));
  EXPECT_THAT(inner.end, ElementsAre(5, 4, 7));
  EXPECT_EQ(inner.front_slices, 2u);
  EXPECT_EQ(inner.tokens, 10u);
}

TEST(HeldTokensTest, OfHybridAreTheRanksTokensAndAnEvenShareOfPadding) {
  ShardPlan plan = SmallMix();
  plan.padded_tokens = 21;
  EXPECT_EQ(HeldTokens(plan, 0), 6u + 3);
  EXPECT_EQ(HeldTokens(plan, 1), 10u + 2);
  EXPECT_EQ(ExpandRank(plan, 0).padding, 3u);
  EXPECT_EQ(ExpandRank(plan, 1).padding, 2u);
}

TEST(CutTokensTest, AreAllButUnderHybrid) {
  EXPECT_EQ(CutTokens(SmallMix()), 8u);
  for (const Sharding sharding : kPlannedShardings) {
    EXPECT_EQ(CutTokens(PlanOf(sharding, {5, 3, 8}, 2)), 16u);
  }
}

TEST(SlotsOfRankTest, EachSlotBelongsToTheRankThatOwnsIt) {
  for (const Sharding sharding : kPlannedShardings) {
    for (const uint32_t context_parallel : ContextParallelSizes()) {
      std::vector<int> owned(2 * context_parallel);
      for (uint32_t rank = 0; rank < context_parallel; ++rank) {
        const RankSlots slots = SlotsOfRank(rank, sharding, context_parallel);
        EXPECT_LT(slots.front, slots.back);
        for (const uint32_t slot : {slots.front, slots.back}) {
          EXPECT_EQ(RankOfSlot(slot, sharding, context_parallel), rank);
          ++owned.at(slot);
        }
      }
      EXPECT_THAT(owned, ::testing::Each(1));
    }
  }
}

TEST(ExpandRankTest, EveryRankOfAnEmptyMicroBatchIsEmpty) {
  for (const Sharding sharding : kPlannedShardings) {
    for (const uint32_t pad_to : {0u, 128u}) {
      for (const RankSlices& rank : ExpandAllRanks(PlanOf(sharding, {}, 5, pad_to))) {
        EXPECT_EQ(rank, RankSlices{});
      }
    }
  }
}

TEST(ExpandRankTest, OneRankHasEverything) {
  const std::vector<uint32_t> lengths = {5, 1, 9, 2};
  for (const Sharding sharding : kPlannedShardings) {
    const RankSlices rank = ExpandRank(PlanOf(sharding, lengths, 1), 0);
    EXPECT_EQ(rank.tokens, 17u);
    std::vector<uint32_t> tokens(lengths.size());
    for (size_t i = 0; i < rank.size(); ++i) {
      tokens[rank.document[i]] += rank.end[i] - rank.begin[i];
    }
    EXPECT_EQ(tokens, lengths);
  }
}

TEST(ExpandRankTest, SlicesOfOneTokenEachGoOnePerRankAsFarAsTheyLast) {
  for (const Sharding sharding : {Sharding::kPerSequence, Sharding::kPerDocument}) {
    const std::vector<RankSlices> ranks =
        ExpandAllRanks(PlanOf(sharding, {1, 1, 1}, 5));
    for (uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(ranks[rank].document, ElementsAre(rank));
      EXPECT_THAT(ranks[rank].begin, ElementsAre(0));
      EXPECT_THAT(ranks[rank].end, ElementsAre(1));
    }
    EXPECT_THAT(ranks[3].document, IsEmpty());
    EXPECT_THAT(ranks[4].document, IsEmpty());
  }
}

// 1,500 documents are several of the blocks that are cut at a time.
TEST(ExpandRankTest, TheMemoryOfAnotherExpansionLeavesNoTrace) {
  std::mt19937_64 random(23);
  std::vector<uint32_t> many(1500);
  for (uint32_t& length : many) length = static_cast<uint32_t>(1 + Draw(random, 40));
  const std::vector<ShardPlan> plans = {
      PlanOf(Sharding::kPerDocument, many, 7),
      PlanOf(Sharding::kPerDocument, {3}, 7),
      PlanOf(Sharding::kPerSequence, many, 7, 64),
      PlanOf(Sharding::kPerDocument, many, 7, 1),
      PlanOf(Sharding::kContiguous, many, 7, 64),
      PlanOf(Sharding::kPerSequence, {}, 7),
  };
  RankSlices reused;
  for (const ShardPlan& plan : plans) {
    const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
    ASSERT_EQ(ranks.size(), 7u);
    for (uint32_t rank = 0; rank < 7; ++rank) {
      ExpandRankInto(plan, rank, reused);
      EXPECT_EQ(reused, ExpandRank(plan, rank));
      EXPECT_EQ(reused, ranks[rank]);
    }
  }
}

TEST(ExpandRankTest, ALargePlanHoldsNoRowPerDocumentAndSlot) {
  const std::vector<uint32_t> lengths(100000, 3000);
  const ShardPlan plan = PlanOf(Sharding::kPerDocument, lengths, 1024);
  const size_t bytes = plan.document_starts.size() * sizeof(uint64_t) +
                       plan.slot_starts.size() * sizeof(uint64_t) +
                       plan.slot_tokens.size() * sizeof(uint32_t) +
                       plan.left_over.size() * sizeof(uint16_t) +
                       plan.cursor.size() * sizeof(uint16_t);
  EXPECT_LE(bytes, 16 * lengths.size() + 8);
  const RankSlices last = ExpandRank(plan, 1023);
  EXPECT_EQ(last.size(), 200000u);
  // 300,000,000 = 146,484 * 2,048 + 768 tokens: one more in the first 768 slots.
  EXPECT_EQ(last.tokens, 2u * 146484);
  EXPECT_EQ(ExpandRank(plan, 767).tokens, 2u * 146484 + 1);
}

}  // namespace
}  // namespace evenpack
