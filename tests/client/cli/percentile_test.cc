#include "client/cli/percentile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace evenpack {
namespace {

TEST(PercentileTest, IsTheNearestRank) {
  const std::vector<double> five = {15, 20, 35, 40, 50};
  EXPECT_EQ(Percentile(five, 5), 15);
  EXPECT_EQ(Percentile(five, 20), 15);
  EXPECT_EQ(Percentile(five, 30), 20);
  EXPECT_EQ(Percentile(five, 40), 20);
  EXPECT_EQ(Percentile(five, 50), 35);
  EXPECT_EQ(Percentile(five, 100), 50);
  EXPECT_EQ(Percentile(std::vector<double>{3}, 1), 3);
}

TEST(PercentileTest, LeavesThatShareAtOrBelow) {
  std::vector<double> values(250);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  for (int percent = 1; percent <= 100; ++percent) {
    const double found = Percentile(values, percent);
    // Values are their own counts of lower ones.
    EXPECT_GE((found + 1) * 100, percent * 250);
    EXPECT_LT(found * 100, percent * 250);
  }
}

TEST(HistogramTest, AgreesWithTheSortedValues) {
  Histogram histogram;
  std::vector<double> values;
  for (uint64_t i = 0; i < 137; ++i) {
    histogram.Add(i * i % 23);
    values.push_back(static_cast<double>(i * i % 23));
  }
  std::sort(values.begin(), values.end());
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(static_cast<double>(histogram.Percentile(percent)),
              Percentile(values, percent));
  }
}

TEST(HistogramTest, IsZeroWithoutValues) { EXPECT_EQ(Histogram().Percentile(50), 0U); }

}  // namespace
}  // namespace evenpack
