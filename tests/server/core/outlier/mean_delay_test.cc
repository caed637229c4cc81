#include "server/core/outlier/mean_delay.h"

#include <gtest/gtest.h>

#include <limits>

namespace evenpack {
namespace {

constexpr uint64_t kMaxUint64 = std::numeric_limits<uint64_t>::max();

uint64_t AfterMany(uint64_t mean_delay, uint64_t waiting, uint64_t batch) {
  for (int i = 0; i < 200; ++i) mean_delay = MeanDelayAfter(mean_delay, waiting, batch);
  return mean_delay;
}

TEST(MeanDelayTest, IsWhatWaitsInBatchesOnceThatStays) {
  for (const uint64_t at_first : {uint64_t{0}, kMeanDelayAtFirst, 9 * kDelayUnit}) {
    EXPECT_NEAR(static_cast<double>(AfterMany(at_first, 750, 1000)), 0.75 * kDelayUnit,
                12);
    EXPECT_NEAR(static_cast<double>(AfterMany(at_first, 3000, 1000)), 3 * kDelayUnit,
                12);
    EXPECT_NEAR(static_cast<double>(AfterMany(at_first, 0, 1000)), 0, 12);
  }
}

TEST(MeanDelayTest, OneBatchMovesItByATwelfth) {
  EXPECT_EQ(MeanDelayAfter(1200, 0, 1000), 1100U);
  EXPECT_EQ(MeanDelayAfter(0, 3000, 1000), kDelayUnit / 4);
}

TEST(MeanDelayTest, NothingOverflows) {
  EXPECT_GT(AfterMany(0, kMaxUint64, 1), uint64_t{1} << 39);
  EXPECT_LE(AfterMany(0, kMaxUint64, 1), uint64_t{1} << 40);
  EXPECT_EQ(MeanDelayAfter(0, 1, kMaxUint64), 0U);
  for (const uint64_t read : {kMaxUint64, uint64_t{1} << 63, kMaxUint64 / 2}) {
    EXPECT_LE(MeanDelayAfter(read, kMaxUint64, 1), uint64_t{1} << 40);
  }
}

TEST(DelayPriceTest, RisesWithTheSquareFromAQuarterToABatch) {
  EXPECT_EQ(DelayPricePpm(0, 100'000), 6'250U);
  EXPECT_EQ(DelayPricePpm(kDelayUnit / 4, 100'000), 6'250U);
  EXPECT_EQ(DelayPricePpm(kDelayUnit / 2, 100'000), 25'000U);
  EXPECT_EQ(DelayPricePpm(kMeanDelayAtFirst, 100'000), 39'062U);
  EXPECT_EQ(DelayPricePpm(kDelayUnit, 100'000), 100'000U);
  EXPECT_EQ(DelayPricePpm(kMaxUint64, 100'000), 100'000U);
  EXPECT_EQ(DelayPricePpm(kDelayUnit, 0), 0U);
}

}  // namespace
}  // namespace evenpack
