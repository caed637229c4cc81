#include "server/core/sharding/adaptive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/named_models.h"
#include "tests/server/core/sharding/random_lengths.h"
#include "tests/server/core/sharding/tile_table.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One document of 64 blocks, then 64 of one block.
std::vector<uint32_t> LongThenShort() {
  std::vector<uint32_t> lengths(65, 128);
  lengths[0] = 8192;
  return lengths;
}

// CP = 2. Per sequence the slots are of 32 blocks: rank 0 has 32 * 32 + 32 tiles, rank
// 1 has 32 * 64 + 32. Per document the long one's slots are of 16 blocks, so either
// rank has 16 * (16 + 64) tiles of it, and two slices of a tile of each short one.
TEST(PredictRankNsTest, AddsTheLaunchAndTheTilesOfEverySlice) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerSequence, LongThenShort(), 2), table),
              ElementsAre(5 + 1056, 5 + 2080));
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerDocument, LongThenShort(), 2), table),
              ElementsAre(5 + 1408, 5 + 1408));
}

TEST(PredictRankNsTest, ARankWithoutSlicesIsGivenTheLaunch) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerDocument, {}, 3), table), Each(5));
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerSequence, {1}, 3), table),
              ElementsAre(6, 5, 5));
}

TEST(PredictRankNsTest, PaddingCountsNothing) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerDocument, {1, 1}, 2, 4096), table),
              ElementsAre(7, 5));
}

TEST(PredictRankNsTest, RoundsPicosecondsToTheNearest) {
  const KernelLatencyTable table = *KernelLatencyTable::FromGrid(
      {128, 256}, {128, 256}, {500, 500, 500, 500}, /*launch_ns=*/0);
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerSequence, {1}, 1), table),
              ElementsAre(1));
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerSequence, {1, 1, 1, 1}, 2), table),
              ElementsAre(1, 1));
}

TEST(PredictRankNsTest, IsCappedWhereManyGiantsMeet) {
  const KernelLatencyTable table = *KernelLatencyTable::FromGrid(
      {128, 256}, {128, 256}, std::vector<int64_t>(4, int64_t{1} << 50), 1);
  const std::vector<uint32_t> giants(2000, 2147483647);
  EXPECT_THAT(PredictRankNs(PlanOf(Sharding::kPerDocument, giants, 1), table),
              ElementsAre(std::numeric_limits<int64_t>::max()));
}

TEST(ChooseShardingTest, ManyShortDocumentsAreCutAsASequence) {
  const std::vector<uint32_t> lengths(64, 128);
  const ShardingChoice choice = *ChooseSharding(lengths, 4, 0, OneNanosecondPerTile());
  EXPECT_EQ(choice.plan, PlanOf(Sharding::kPerSequence, lengths, 4));
  EXPECT_EQ(choice.per_sequence_ns, 5 + 16);
  EXPECT_EQ(choice.per_document_ns, 5 + 128);
}

TEST(ChooseShardingTest, ALongDocumentAmongShortOnesIsCutByDocuments) {
  const ShardingChoice choice =
      *ChooseSharding(LongThenShort(), 2, 0, OneNanosecondPerTile());
  EXPECT_EQ(choice.plan, PlanOf(Sharding::kPerDocument, LongThenShort(), 2));
  EXPECT_EQ(choice.per_sequence_ns, 5 + 2080);
  EXPECT_EQ(choice.per_document_ns, 5 + 1408);
}

TEST(ChooseShardingTest, TheDefaultKernelModelPicksEitherSide) {
  const KernelLatencyTable table = *KernelLatencyTable::FromTileModel(
      *NamedModel("7B"), *NamedHardware("H100"), /*tensor_parallel=*/8);
  std::vector<uint32_t> uneven(33, 1024);
  uneven[0] = 98304;
  EXPECT_EQ(ChooseSharding(uneven, 8, 0, table)->plan.sharding, Sharding::kPerDocument);
  const std::vector<uint32_t> dust(1024, 128);
  EXPECT_EQ(ChooseSharding(dust, 8, 0, table)->plan.sharding, Sharding::kPerSequence);
}

TEST(ChooseShardingTest, ATieGoesToPerSequence) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  const std::vector<uint32_t> one = {4096};
  const ShardingChoice choice = *ChooseSharding(one, 4, 0, table);
  EXPECT_EQ(choice.per_sequence_ns, choice.per_document_ns);
  EXPECT_EQ(choice.plan.sharding, Sharding::kPerSequence);
  EXPECT_EQ(ChooseSharding({}, 4, 128, table)->plan.sharding, Sharding::kPerSequence);
}

TEST(ChooseShardingTest, KeepsThePlanWhoseSlowestRankIsFaster) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  std::mt19937_64 random(29);
  int by_document = 0;
  for (int round = 0; round < 200; ++round) {
    const auto context_parallel = static_cast<uint32_t>(1 + Draw(random, 8));
    std::vector<uint32_t> lengths(1 + Draw(random, 6));
    for (uint32_t& length : lengths) {
      length = static_cast<uint32_t>(1 + Draw(random, 8000));
    }
    const uint32_t pad_to = Draw(random, 2) == 0 ? 0 : 16;
    const auto slowest = [&](Sharding sharding) {
      const std::vector<int64_t> ranks =
          PredictRankNs(PlanOf(sharding, lengths, context_parallel, pad_to), table);
      return *std::max_element(ranks.begin(), ranks.end());
    };
    const int64_t sequence_ns = slowest(Sharding::kPerSequence);
    const int64_t document_ns = slowest(Sharding::kPerDocument);
    const ShardingChoice choice =
        *ChooseSharding(lengths, context_parallel, pad_to, table);
    ASSERT_EQ(choice.per_sequence_ns, sequence_ns);
    ASSERT_EQ(choice.per_document_ns, document_ns);
    ASSERT_EQ(choice.plan.sharding, document_ns < sequence_ns ? Sharding::kPerDocument
                                                              : Sharding::kPerSequence);
    by_document += document_ns < sequence_ns ? 1 : 0;
  }
  EXPECT_GT(by_document, 20);
  EXPECT_LT(by_document, 180);
}

TEST(ChooseShardingTest, NeedsATableAndGoodArguments) {
  const std::vector<uint32_t> lengths = {100};
  const absl::Status empty =
      ChooseSharding(lengths, 2, 0, KernelLatencyTable()).status();
  EXPECT_EQ(empty.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(empty.message()),
              HasSubstr("kernel_latency_table: an empty table is not accepted"));
  EXPECT_EQ(ChooseSharding(lengths, 0, 0, OneNanosecondPerTile()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace evenpack
