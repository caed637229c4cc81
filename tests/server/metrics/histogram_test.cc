#include "server/metrics/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;

constexpr double kBounds[] = {1, 2, 5};

std::vector<uint64_t> Counts(const Histogram& histogram) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    counts.push_back(histogram.count_in(i));
  }
  return counts;
}

TEST(HistogramTest, IsEmptyAtFirst) {
  const Histogram histogram(kBounds);
  EXPECT_THAT(Counts(histogram), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.sum(), 0);
}

TEST(HistogramTest, ABoundBelongsToTheBucketBelowIt) {
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 2.0, 2.5, 5.0, 5.5}) {
    histogram.Observe(value);
  }
  EXPECT_THAT(Counts(histogram), ElementsAre(2, 2, 2, 1));
  EXPECT_EQ(histogram.count(), 7u);
  EXPECT_EQ(histogram.sum(), 18);
}

TEST(HistogramTest, WhatIsBelowAllBoundsOrAboveThemIsCounted) {
  Histogram histogram(kBounds);
  histogram.Observe(-3);
  histogram.Observe(std::numeric_limits<double>::infinity());
  EXPECT_THAT(Counts(histogram), ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(histogram.count(), 2u);
}

TEST(HistogramTest, CountsAValueManyTimesAtOnce) {
  Histogram histogram(kBounds);
  histogram.Observe(1.5, 4);
  histogram.Observe(3, 0);
  EXPECT_THAT(Counts(histogram), ElementsAre(0, 4, 0, 0));
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(histogram.sum(), 6);
}

TEST(HistogramTest, ACopyGoesItsOwnWay) {
  Histogram histogram(kBounds);
  histogram.Observe(1);
  Histogram copy = histogram;
  copy.Observe(1);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(copy.count(), 2u);
}

TEST(HistogramTest, TheProjectsBoundsRiseAndFit) {
  for (const std::span<const double> bounds :
       {std::span<const double>(kLatencyBounds),
        std::span<const double>(kImbalanceBounds),
        std::span<const double>(kStepFillBounds), std::span<const double>(kShareBounds),
        std::span<const double>(kDelayBounds), std::span<const double>(kRatioBounds)}) {
    EXPECT_LE(bounds.size(), Histogram::kMaxBounds);
    for (size_t i = 1; i < bounds.size(); ++i) EXPECT_LT(bounds[i - 1], bounds[i]);
  }
}

}  // namespace
}  // namespace evenpack
