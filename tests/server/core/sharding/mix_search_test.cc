#include "server/core/sharding/mix_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/core/sharding/shard_plan.h"
#include "tests/server/core/sharding/tile_table.h"

namespace evenpack {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ne;

TEST(FindMixTest, EqualDocumentsStayWhole) {
  const std::vector<uint32_t> lengths(8, 512);
  const Mix mix = *FindMix(lengths, 4, OneNanosecondPerTile(), {});
  EXPECT_THAT(mix.owner, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  // Two documents of 4 * 4 tiles.
  EXPECT_EQ(mix.picoseconds, 32'000u);
}

TEST(FindMixTest, ADocumentBeyondAnEvenShareIsCut) {
  std::vector<uint32_t> lengths(16, 256);
  lengths[5] = 16'384;
  const Mix mix = *FindMix(lengths, 4, OneNanosecondPerTile(), {});
  EXPECT_EQ(mix.owner[5], kCutDocument);
  std::vector<uint16_t> others = mix.owner;
  others.erase(others.begin() + 5);
  EXPECT_THAT(others, Each(Ne(kCutDocument)));
}

// Two documents for two ranks, one twice as long: cut, they are even; whole, no key
// travels.
TEST(FindMixTest, ExchangesAndBalanceAreWeighed) {
  const std::vector<uint32_t> lengths = {2'560, 5'120};
  HybridRule rule = {.token_tolerance_ppm = 1'000'000};
  const KernelLatencyTable table = OneNanosecondPerTile();
  EXPECT_EQ(FindMix(lengths, 2, table, rule)->owner[1], kCutDocument);
  rule.cut_token_ps = 1'000'000;
  EXPECT_THAT(FindMix(lengths, 2, table, rule)->owner, ElementsAre(1, 0));
  rule.token_tolerance_ppm = 10'000;
  EXPECT_EQ(FindMix(lengths, 2, table, rule)->owner[1], kCutDocument);
}

TEST(FindMixTest, TokensBesideAttentionAreWeighed) {
  // As much attention in one document of 8 blocks as in 64 of one.
  std::vector<uint32_t> lengths(64, 128);
  lengths.push_back(1'024);
  HybridRule rule = {.token_tolerance_ppm = 1'000'000, .cut_token_ps = 100};
  const KernelLatencyTable table = OneNanosecondPerTile();
  rule.token_ps = 1'000;
  const Mix mix = *FindMix(lengths, 2, table, rule);
  EXPECT_EQ(mix.owner.back(), 0);
  // 9,216 tokens: 4,608 on either rank, and 64 + 28 tiles on the first.
  EXPECT_EQ(mix.picoseconds, 92'000u + 4'608 * 1'000);
}

TEST(FindMixTest, NothingOrGiantsAreNotMixed) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  EXPECT_FALSE(FindMix({}, 4, table, {}).has_value());
  EXPECT_TRUE(FindMix(std::vector<uint32_t>{2147483647}, 4, table, {}).has_value());
  const std::vector<uint32_t> tokens(3, 2147483647);
  EXPECT_FALSE(FindMix(tokens, 4, table, {}).has_value());
  const KernelLatencyTable slow = *KernelLatencyTable::FromGrid(
      {128, 256}, {128, 256}, std::vector<int64_t>(4, int64_t{1} << 50), 1);
  EXPECT_FALSE(FindMix(std::vector<uint32_t>{2147483647}, 4, slow, {}).has_value());
}

TEST(FindMixTest, ATableOfNoughtsCutsAndPlacesAllTheSame) {
  const KernelLatencyTable nought =
      *KernelLatencyTable::FromGrid({128, 256}, {128, 256}, {0, 0, 0, 0}, 0);
  const Mix mix = *FindMix(std::vector<uint32_t>{10, 10, 10, 10}, 2, nought, {});
  EXPECT_EQ(mix.picoseconds, 0u);
}

}  // namespace
}  // namespace evenpack
