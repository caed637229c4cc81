#include "gpu_worker/executor/kv_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::Draw;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttentionShape Window(uint32_t window) {
  AttentionShape shape;
  shape.sliding_window = window;
  return shape;
}

// 8 tokens, CP 2: slots of 2, rank 0 owns tokens 0 1 6 7, rank 1 tokens 2 to 5.
TEST(KvLayoutTest, ARankReadsItsOwnKeysInPlaceAndReceivesTheOthers) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {8}, 2);
  const KvLayout layout = LayOut(plan, 0, Window(0));
  EXPECT_EQ(layout.own_rows, 4U);
  EXPECT_EQ(layout.received_rows, 4U);
  EXPECT_TRUE(layout.exchanges);
  ASSERT_EQ(layout.tasks.size(), 2U);
  EXPECT_EQ(layout.tasks[0].query_row, 0U);
  EXPECT_THAT(layout.tasks[0].keys, ElementsAre(KeyRun{0, 2, 0, false}));
  EXPECT_EQ(layout.tasks[1].begin, 6U);
  EXPECT_EQ(layout.tasks[1].query_row, 2U);
  EXPECT_THAT(layout.tasks[1].keys,
              ElementsAre(KeyRun{0, 2, 0, false}, KeyRun{2, 4, 0, true},
                          KeyRun{6, 2, 2, false}));
  EXPECT_THAT(layout.receive[1], ElementsAre(RowRange{0, 4}));
  // Rank 1's queries see tokens 0 and 1 of it, and none of 6 and 7.
  EXPECT_THAT(layout.send[1], ElementsAre(RowRange{0, 2}));
  EXPECT_THAT(layout.send[0], IsEmpty());
}

TEST(KvLayoutTest, DocumentsThatAreWholeOnARankTravelNowhere) {
  const ShardPlan plan = Planned(Sharding::kContiguous, {6, 4, 3, 7}, 2);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const KvLayout layout = LayOut(plan, rank, Window(0));
    EXPECT_FALSE(layout.exchanges);
    EXPECT_EQ(layout.received_rows, 0U);
    EXPECT_THAT(layout.send[1 - rank], IsEmpty());
  }
}

TEST(KvLayoutTest, AllTakePartWhereOneRankReceives) {
  // Only the second rank sees keys of the other.
  const ShardPlan plan = Planned(Sharding::kContiguous, {6, 6}, 2);
  ASSERT_EQ(plan.slot_starts[2], 6U);
  const ShardPlan uneven = Planned(Sharding::kContiguous, {7, 5}, 2);
  EXPECT_FALSE(LayOut(plan, 0, Window(0)).exchanges);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(LayOut(uneven, rank, Window(0)).exchanges);
  }
  EXPECT_EQ(LayOut(uneven, 0, Window(0)).received_rows, 0U);
  EXPECT_EQ(LayOut(uneven, 1, Window(0)).received_rows, 6U);
}

TEST(KvLayoutTest, OnlyKeysWithinTheWindowTravel) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {80}, 2);
  // Rank 0 has 0 to 19 and 60 to 79; of 20 to 59 it sees 57, 58 and 59.
  const KvLayout layout = LayOut(plan, 0, Window(4));
  EXPECT_EQ(layout.received_rows, 3U);
  EXPECT_THAT(layout.tasks[1].keys,
              ElementsAre(KeyRun{57, 3, 0, true}, KeyRun{60, 20, 20, false}));
  // Rank 1 sees 17, 18 and 19 of the front, and nothing of the back.
  EXPECT_THAT(layout.send[1], ElementsAre(RowRange{17, 3}));
}

// (document, position) of each row of a rank's own and received keys.
using Token = std::pair<uint32_t, uint32_t>;

struct Group {
  std::vector<KvLayout> layouts;
  std::vector<std::vector<Token>> own;
  std::vector<std::vector<Token>> received;
};

std::vector<Token> TokensOf(const RankSlices& slices) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < slices.size(); ++i) {
    for (uint32_t position = slices.begin[i]; position < slices.end[i]; ++position) {
      tokens.emplace_back(slices.document[i], position);
    }
  }
  return tokens;
}

// Carries out the exchange with token names for rows.
Group Exchanged(const ShardPlan& plan, const AttentionShape& shape,
                KeyPlacement placement) {
  Group group;
  const uint32_t ranks = plan.context_parallel;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    group.layouts.push_back(LayOut(plan, rank, shape, placement));
    group.own.push_back(TokensOf(ExpandRank(plan, rank)));
  }
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<Token> received(group.layouts[rank].received_rows, Token(~0U, ~0U));
    for (uint32_t peer = 0; peer < ranks; ++peer) {
      std::vector<Token> sent;
      for (const RowRange& range : group.layouts[peer].send[rank]) {
        for (uint64_t i = 0; i < range.count; ++i) {
          sent.push_back(group.own[peer].at(range.row + i));
        }
      }
      size_t at = 0;
      for (const RowRange& range : group.layouts[rank].receive[peer]) {
        for (uint64_t i = 0; i < range.count; ++i) {
          received.at(range.row + i) = sent.at(at++);
        }
      }
      EXPECT_EQ(at, sent.size());
    }
    for (const RowMove& copy : group.layouts[rank].copies) {
      for (uint64_t i = 0; i < copy.count; ++i) {
        EXPECT_EQ(received.at(copy.to + i), Token(~0U, ~0U)) << "received twice";
        received.at(copy.to + i) = group.own[rank].at(copy.from + i);
      }
    }
    group.received.push_back(std::move(received));
  }
  return group;
}

void CheckKeys(const Group& group, uint32_t rank, const AttentionShape& shape) {
  std::map<Token, int> used;
  uint64_t query_row = 0;
  for (const AttentionTask& task : group.layouts[rank].tasks) {
    EXPECT_EQ(task.query_row, query_row);
    query_row += task.end - task.begin;
    uint32_t position = shape.FirstKey(task.begin);
    for (const KeyRun& run : task.keys) {
      ASSERT_EQ(run.position, position);
      const auto& rows = run.received ? group.received[rank] : group.own[rank];
      for (uint32_t i = 0; i < run.count; ++i) {
        const Token token = rows.at(run.row + i);
        ASSERT_EQ(token, Token(task.document, position + i));
        if (run.received) ++used[token];
      }
      position += run.count;
    }
    ASSERT_EQ(position, task.end);
  }
  EXPECT_EQ(query_row, group.layouts[rank].own_rows);
  // Nothing is received that no query sees.
  EXPECT_EQ(used.size(), group.layouts[rank].received_rows);
}

TEST(KvLayoutTest, EveryTaskSeesItsDocumentsKeysAndNothingElseTravels) {
  std::mt19937_64 random(5);
  for (int repeat = 0; repeat < 400; ++repeat) {
    std::vector<uint32_t> lengths(Draw(random, 1, 12));
    for (uint32_t& length : lengths) {
      length = Draw(random, 1, repeat % 2 == 0 ? 6 : 90);
    }
    const Sharding sharding =
        std::array{Sharding::kPerSequence, Sharding::kPerDocument,
                   Sharding::kContiguous, Sharding::kHybrid}[Draw(random, 0, 3)];
    const uint32_t cp = Draw(random, 1, 9);
    const uint32_t pad_to = Draw(random, 0, 1) * 4;
    const AttentionShape shape = Window(Draw(random, 0, 1) * Draw(random, 1, 40));
    const ShardPlan plan = Planned(sharding, lengths, cp, pad_to);
    for (const KeyPlacement placement :
         {KeyPlacement::kWhereTheyAre, KeyPlacement::kTogether}) {
      const Group group = Exchanged(plan, shape, placement);
      bool exchanges = false;
      for (uint32_t rank = 0; rank < cp; ++rank) {
        CheckKeys(group, rank, shape);
        const KvLayout& layout = group.layouts[rank];
        if (placement == KeyPlacement::kTogether) {
          for (const AttentionTask& task : layout.tasks)
            EXPECT_EQ(task.keys.size(), 1U);
        } else {
          EXPECT_THAT(layout.copies, IsEmpty());
        }
        for (const auto& of_peer : layout.receive) exchanges |= !of_peer.empty();
      }
      for (const KvLayout& layout : group.layouts) {
        EXPECT_EQ(layout.exchanges, exchanges);
      }
      ASSERT_FALSE(::testing::Test::HasFailure()) << repeat;
    }
  }
}

TEST(KvLayoutTest, KeysOfWholeDocumentsDoNotTravel) {
  std::vector<uint32_t> lengths(12, 512);
  lengths.push_back(8192);
  const ShardPlan plan = Planned(Sharding::kHybrid, lengths, 4);
  ASSERT_EQ(CutTokens(plan), 8192U);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_LT(LayOut(plan, rank, Window(0)).received_rows, 8192U);
  }
  lengths.pop_back();
  EXPECT_FALSE(LayOut(Planned(Sharding::kHybrid, lengths, 4), 0, Window(0)).exchanges);
}

TEST(KvLayoutTest, OwnKeysAreCopiedAmongTheReceivedWhereTheyMustBeTogether) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {8}, 2);
  const KvLayout layout = LayOut(plan, 0, Window(0), KeyPlacement::kTogether);
  ASSERT_EQ(layout.tasks.size(), 2U);
  // The front slice sees its own keys alone, where they are.
  EXPECT_THAT(layout.tasks[0].keys, ElementsAre(KeyRun{0, 2, 0, false}));
  EXPECT_THAT(layout.tasks[1].keys, ElementsAre(KeyRun{0, 8, 0, true}));
  EXPECT_THAT(layout.receive[1], ElementsAre(RowRange{2, 4}));
  EXPECT_THAT(layout.copies, ElementsAre(RowMove{0, 0, 2}, RowMove{2, 6, 2}));
  EXPECT_EQ(layout.received_rows, 8U);
}

// A document's received keys lie together, so that they are a few runs whatever CP.
TEST(KvLayoutTest, KeysOfASliceAreAtMostFourRuns) {
  for (const uint32_t cp : {2U, 4U, 16U}) {
    const ShardPlan plan = Planned(Sharding::kPerDocument, {1000, 640, 3000}, cp);
    for (uint32_t rank = 0; rank < cp; ++rank) {
      for (const AttentionTask& task : LayOut(plan, rank, Window(0)).tasks) {
        EXPECT_LE(task.keys.size(), 4U);
      }
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
