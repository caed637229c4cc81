#include "gpu_worker/executor/prepared_micro_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;

// 8 tokens, CP 2, padded to 12: rank 0 owns tokens 0 1 2 and slot 9 to 11 of padding.
TEST(PreparedMicroBatchTest, TellsLocalTasksFromThoseThatSeeOthersKeys) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {8}, 2);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 0, AttentionShape());
  ASSERT_EQ(prepared.local_tasks.size(), 1U);
  EXPECT_EQ(prepared.local_tasks[0].begin, 0U);
  ASSERT_EQ(prepared.remote_tasks.size(), 1U);
  EXPECT_EQ(prepared.remote_tasks[0].begin, 6U);
}

TEST(PreparedMicroBatchTest, GradientsOfEachPeerComeBackBehindThoseOfTheOneBefore) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {60}, 3);
  const PreparedMicroBatch prepared = PrepareMicroBatch(plan, 1, AttentionShape());
  const uint64_t first = RowsIn(prepared.layout.send[0]);
  const uint64_t last = RowsIn(prepared.layout.send[2]);
  EXPECT_GT(first, 0U);
  EXPECT_GT(last, 0U);
  EXPECT_THAT(prepared.returned[0], ElementsAre(RowRange{0, first}));
  EXPECT_EQ(RowsIn(prepared.returned[1]), 0U);
  EXPECT_THAT(prepared.returned[2], ElementsAre(RowRange{first, last}));
  EXPECT_EQ(prepared.returned_rows, first + last);
}

// Of each document the first of two ranks has a front slice that sees own keys alone: a
// quarter, whose keys the other needs, and three quarters come to it.
TEST(PreparedMicroBatchTest, LocalWorkIsDividedAsWhatArrivesAndWhatComesBack) {
  const auto before = [&](ElementType type, const std::vector<uint32_t>& lengths,
                          uint32_t ranks) {
    AttentionShape shape;
    shape.type = type;
    const ShardPlan plan = Planned(Sharding::kPerDocument, lengths, ranks);
    return PrepareMicroBatch(plan, 0, shape).local_tasks_before;
  };
  const std::vector<uint32_t> even(8, 40);
  EXPECT_EQ(before(ElementType::kFloat32, even, 2), 5U);
  EXPECT_EQ(before(ElementType::kBfloat16, even, 2), 4U);
  // As near as whole tasks come.
  EXPECT_EQ(before(ElementType::kBfloat16, {400, 40, 40}, 2), 1U);
  EXPECT_EQ(before(ElementType::kBfloat16, {40, 40, 400}, 2), 2U);
  // Nothing travels.
  EXPECT_EQ(before(ElementType::kBfloat16, even, 1), 16U);
}

TEST(PreparedMicroBatchTest, TokensOfWholeDocumentsAreNotCut) {
  std::vector<uint32_t> lengths(12, 512);
  lengths.push_back(8192);
  const ShardPlan plan = Planned(Sharding::kHybrid, lengths, 4);
  EXPECT_EQ(PrepareMicroBatch(plan, 0, AttentionShape()).cut_tokens, 8192U);
}

TEST(PreparedMicroBatchTest, PaddingIsWhatIsHeldBehindTheTokens) {
  const ShardPlan plan = Planned(Sharding::kPerSequence, {9}, 2, 4);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const PreparedMicroBatch prepared = PrepareMicroBatch(plan, rank, AttentionShape());
    EXPECT_EQ(prepared.held_rows, 6U);
    std::vector<int> rows(6 * 2, 7);
    EXPECT_THAT(ClearPadding(prepared, Device::Host(), rows.data(), 2 * sizeof(int)),
                IsOk());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i], i < 2 * prepared.layout.own_rows ? 7 : 0) << rank << " " << i;
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
