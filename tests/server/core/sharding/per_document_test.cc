#include "server/core/sharding/per_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "server/core/sharding/rank_load.h"
#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// CP = 2, so 4 slots. 7 = 1*4 + 3: slots 0, 1, 2 get one more. 2: slots 3 and 0.
// 5 = 1*4 + 1: slot 1. 4: none. 3: slots 2, 3, 0.
TEST(PerDocumentTest, TheCursorRollsOnFromDocumentToDocument) {
  const ShardPlan plan = *PlanPerDocument(std::vector<uint32_t>{7, 2, 5, 4, 3}, 2, 0);
  EXPECT_THAT(plan.document_starts, ElementsAre(0, 7, 9, 14, 18, 21));
  EXPECT_THAT(plan.slot_tokens, ElementsAre(1, 0, 1, 1, 0));
  EXPECT_THAT(plan.left_over, ElementsAre(3, 2, 1, 0, 3));
  EXPECT_THAT(plan.cursor, ElementsAre(0, 3, 1, 2, 2));
  EXPECT_EQ(plan.padded_tokens, 21u);
  EXPECT_TRUE(plan.slot_starts.empty());

  std::vector<std::vector<uint32_t>> documents, begins, ends;
  std::vector<size_t> front_slices;
  for (const RankSlices& rank : ExpandAllRanks(plan)) {
    documents.push_back(rank.document);
    begins.push_back(rank.begin);
    ends.push_back(rank.end);
    front_slices.push_back(rank.front_slices);
  }
  // Slot 0 then slot 3; slot 1 then slot 2.
  EXPECT_THAT(documents, ElementsAre(ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4),
                                     ElementsAre(0, 2, 3, 0, 2, 3, 4)));
  EXPECT_THAT(begins, ElementsAre(ElementsAre(0, 0, 0, 0, 0, 6, 1, 4, 3, 2),
                                  ElementsAre(2, 1, 1, 4, 3, 2, 1)));
  EXPECT_THAT(ends, ElementsAre(ElementsAre(2, 1, 1, 1, 1, 7, 2, 5, 4, 3),
                                ElementsAre(4, 3, 2, 6, 4, 3, 2)));
  EXPECT_THAT(front_slices, ElementsAre(5, 3));
}

TEST(PerDocumentTest, PadsEachDocumentAtItsEnd) {
  // CP = 2 padded to 4: 5 -> 8 (slots of 2), 4 -> 4 (of 1), 1 -> 4 (of 1).
  const ShardPlan plan = *PlanPerDocument(std::vector<uint32_t>{5, 4, 1}, 2, 1);
  EXPECT_EQ(plan.pad_multiple, 4u);
  EXPECT_EQ(plan.padded_tokens, 16u);
  EXPECT_THAT(plan.slot_tokens, ElementsAre(2, 1, 1));
  EXPECT_THAT(plan.left_over, Each(0));
  EXPECT_THAT(plan.cursor, Each(0));
  const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
  EXPECT_THAT(ranks[0].document, ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(ranks[0].begin, ElementsAre(0, 0, 0, 3));
  EXPECT_THAT(ranks[0].end, ElementsAre(2, 1, 1, 4));
  EXPECT_EQ(ranks[0].front_slices, 3u);
  EXPECT_EQ(ranks[0].tokens, 5u);
  EXPECT_EQ(ranks[0].padding, 3u);
  EXPECT_THAT(ranks[1].document, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(ranks[1].begin, ElementsAre(2, 1, 4, 2));
  EXPECT_THAT(ranks[1].end, ElementsAre(4, 2, 5, 3));
  EXPECT_EQ(ranks[1].padding, 3u);
}

TEST(PerDocumentTest, TheGreatestLengthAndMultipleDoNotOverflow) {
  const std::vector<uint32_t> lengths = {2147483647};
  const ShardPlan plan = *PlanPerDocument(lengths, 1, 2147483646);
  EXPECT_EQ(plan.padded_tokens, 2 * uint64_t{2147483646});
  const RankSlices rank = ExpandRank(plan, 0);
  EXPECT_THAT(rank.begin, ElementsAre(0, 2147483646));
  EXPECT_THAT(rank.end, ElementsAre(2147483646, 2147483647));
  EXPECT_EQ(rank.padding, 2147483645u);
}

// The expansion, token by token, against the definition.
TEST(PerDocumentTest, LeftOverTokensGoOneEachToTheSlotsOfTheCursor) {
  std::mt19937_64 random(7);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    const uint32_t slots = 2 * context_parallel;
    const std::vector<uint32_t> lengths = RandomLengths(random, slots);
    const ShardPlan plan = *PlanPerDocument(lengths, context_parallel, 0);
    const std::vector<RankSlices> ranks = ExpandAllRanks(plan);
    std::vector<size_t> next(context_parallel, 0);
    std::vector<std::vector<uint32_t>> sizes(slots,
                                             std::vector<uint32_t>(lengths.size()));
    uint32_t cursor = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      for (uint32_t slot = 0; slot < slots; ++slot) sizes[slot][i] = lengths[i] / slots;
      for (uint32_t k = 0; k < lengths[i] % slots; ++k) {
        ++sizes[cursor][i];
        cursor = (cursor + 1) % slots;
      }
    }
    std::vector<uint32_t> begin(lengths.size(), 0);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      const uint32_t rank = std::min(slot, slots - 1 - slot);
      for (uint32_t i = 0; i < lengths.size(); ++i) {
        if (sizes[slot][i] == 0) continue;
        const size_t at = next[rank]++;
        ASSERT_LT(at, ranks[rank].size());
        ASSERT_EQ(ranks[rank].document[at], i);
        ASSERT_EQ(ranks[rank].begin[at], begin[i]);
        begin[i] += sizes[slot][i];
        ASSERT_EQ(ranks[rank].end[at], begin[i]);
      }
    }
    for (uint32_t rank = 0; rank < context_parallel; ++rank) {
      ASSERT_EQ(next[rank], ranks[rank].size()) << context_parallel;
    }
  }
}

TEST(PerDocumentTest, RanksHaveTheTokensThatPerSequenceGivesThem) {
  std::mt19937_64 random(11);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    const std::vector<uint32_t> lengths = RandomLengths(random, 2 * context_parallel);
    const std::vector<RankLoad> by_document =
        RankLoads(*PlanPerDocument(lengths, context_parallel, 0));
    const std::vector<RankLoad> by_sequence =
        RankLoads(*PlanPerSequence(lengths, context_parallel, 0));
    for (uint32_t rank = 0; rank < context_parallel; ++rank) {
      ASSERT_EQ(by_document[rank].tokens, by_sequence[rank].tokens);
    }
  }
}

TEST(PerDocumentTest, RanksAttendToEquallyManyPairsWhereTheSlotsDivideEveryLength) {
  std::mt19937_64 random(13);
  for (const uint32_t context_parallel : ContextParallelSizes()) {
    std::vector<uint32_t> lengths(5);
    for (uint32_t& length : lengths) {
      length = static_cast<uint32_t>((1 + Draw(random, 50)) * 2 * context_parallel);
    }
    std::vector<uint64_t> pairs;
    for (const RankLoad& load :
         RankLoads(*PlanPerDocument(lengths, context_parallel, 0))) {
      pairs.push_back(load.attended_pairs);
    }
    EXPECT_THAT(pairs, Each(pairs[0])) << context_parallel;
  }
}

TEST(PerDocumentTest, RefusesBadArguments) {
  const std::vector<uint32_t> lengths = {0};
  EXPECT_EQ(PlanPerDocument(lengths, 2, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(PlanPerDocument({}, 1025, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace evenpack
