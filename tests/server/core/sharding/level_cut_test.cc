#include "server/core/sharding/level_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "server/core/sharding/shard_plan.h"
#include "tests/server/core/sharding/random_lengths.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kEighth = kWholeShare / 8;

TEST(LevelCutTest, NothingWholeIsCutEvenly) {
  const std::vector<DocumentLoad> loads(2);
  const LevelledCut level = LevelCut(loads, {.tokens = 800, .attention_ps = 6400});
  EXPECT_THAT(level.rank_of_load, ElementsAre(0, 1));
  EXPECT_THAT(level.slot_starts,
              ElementsAre(0, 2 * kEighth, 4 * kEighth, 6 * kEighth, kWholeShare));
}

// One has 100 tokens already, so of 300 it gets 100, and the other 200: its share is 2
// thirds of the triangle or so.
TEST(LevelCutTest, ALoadGetsLessOfTheCut) {
  const std::vector<DocumentLoad> loads = {{100, 0}, {0, 0}};
  const LevelledCut level = LevelCut(loads, {.tokens = 300, .attention_ps = 0});
  const uint32_t loaded = level.rank_of_load[0];
  const uint64_t front = level.slot_starts[loaded + 1] - level.slot_starts[loaded];
  const uint64_t back = level.slot_starts[4 - loaded] - level.slot_starts[3 - loaded];
  EXPECT_NEAR(static_cast<double>(front + back), kWholeShare / 3.0, 2);
}

TEST(LevelCutTest, AboveTheLevelNothingIsAdded) {
  const std::vector<DocumentLoad> loads = {{0, 0}, {1000, 100}, {20, 0}};
  const LevelledCut level = LevelCut(loads, {.tokens = 100, .attention_ps = 50});
  const uint32_t rank = level.rank_of_load[1];
  EXPECT_EQ(level.slot_starts[rank], level.slot_starts[rank + 1]);
  EXPECT_EQ(level.slot_starts[5 - rank], level.slot_starts[6 - rank]);
}

// Attention that the slots [begin, end) have, as parts of the document.
double AttentionOf(double begin, double end) { return end * end - begin * begin; }

struct Levelled {
  std::vector<double> tokens;
  std::vector<double> attention;
};

Levelled ByRank(const std::vector<DocumentLoad>& loads, const DocumentLoad& cut) {
  const LevelledCut level = LevelCut(loads, cut);
  Levelled levelled;
  levelled.tokens.resize(loads.size());
  levelled.attention.resize(loads.size());
  const auto slots = static_cast<uint32_t>(2 * loads.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    const uint32_t rank = level.rank_of_load[i];
    levelled.tokens[rank] += static_cast<double>(loads[i].tokens);
    levelled.attention[rank] += static_cast<double>(loads[i].attention_ps);
    for (const uint32_t slot : {rank, slots - 1 - rank}) {
      const double whole = kWholeShare;
      const double begin = static_cast<double>(level.slot_starts[slot]) / whole;
      const double end = static_cast<double>(level.slot_starts[slot + 1]) / whole;
      EXPECT_LE(begin, end);
      levelled.tokens[rank] += (end - begin) * static_cast<double>(cut.tokens);
      levelled.attention[rank] +=
          AttentionOf(begin, end) * static_cast<double>(cut.attention_ps);
    }
  }
  return levelled;
}

double MostOverMean(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return *std::max_element(values.begin(), values.end()) *
         static_cast<double>(values.size()) / sum;
}

TEST(LevelCutTest, MakesTokensEvenAndAttentionNearlySo) {
  std::mt19937_64 random(41);
  for (int round = 0; round < 500; ++round) {
    std::vector<DocumentLoad> loads(1 + Draw(random, 16));
    for (DocumentLoad& load : loads) {
      load = {9'000 + Draw(random, 1'000),
              static_cast<int64_t>(40'000'000 + Draw(random, 10'000'000))};
    }
    const DocumentLoad cut = {10'000 * loads.size(),
                              static_cast<int64_t>(100'000'000 * loads.size())};
    const Levelled levelled = ByRank(loads, cut);
    EXPECT_LT(MostOverMean(levelled.tokens), 1.0002) << round;
    EXPECT_LT(MostOverMean(levelled.attention), 1.001) << round;
  }
}

TEST(LevelCutTest, TakesAnyLoads) {
  std::mt19937_64 random(43);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<DocumentLoad> loads(1 + Draw(random, 20));
    const uint64_t most = uint64_t{1} << Draw(random, 27);
    for (DocumentLoad& load : loads) {
      load = {Draw(random, most),
              static_cast<int64_t>(Draw(random, uint64_t{1} << Draw(random, 56)))};
    }
    const DocumentLoad cut = {
        1 + Draw(random, uint64_t{1} << Draw(random, 31)),
        static_cast<int64_t>(Draw(random, uint64_t{1} << Draw(random, 60)))};
    const LevelledCut level = LevelCut(loads, cut);
    EXPECT_TRUE(std::is_sorted(level.slot_starts.begin(), level.slot_starts.end()));
    EXPECT_EQ(level.slot_starts.front(), 0u);
    EXPECT_EQ(level.slot_starts.back(), kWholeShare);
    std::vector<uint32_t> ranks = level.rank_of_load;
    std::sort(ranks.begin(), ranks.end());
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) EXPECT_EQ(ranks[rank], rank);
  }
}

}  // namespace
}  // namespace evenpack
