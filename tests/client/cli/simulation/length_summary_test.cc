#include "client/cli/simulation/length_summary.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace evenpack {
namespace {

TEST(LengthSummaryTest, TakesPercentilesByNearestRank) {
  std::vector<uint32_t> lengths(100);
  std::iota(lengths.rbegin(), lengths.rend(), 1);
  const LengthSummary summary = Summarise(lengths, 360);
  EXPECT_DOUBLE_EQ(summary.mean, 50.5);
  EXPECT_EQ(summary.p50, 50);
  EXPECT_EQ(summary.p90, 90);
  EXPECT_EQ(summary.p99, 99);
  EXPECT_EQ(summary.max, 100);
  // 90 to 100 of 5,050.
  EXPECT_DOUBLE_EQ(summary.long_token_share, 1045.0 / 5050.0);
}

TEST(LengthSummaryTest, OfOneDocument) {
  const std::vector<uint32_t> one = {7};
  const LengthSummary summary = Summarise(one, 100);
  EXPECT_EQ(summary.p50, 7);
  EXPECT_EQ(summary.p99, 7);
  EXPECT_EQ(summary.long_token_share, 0);
}

TEST(LengthSummaryTest, OfNoDocuments) {
  const LengthSummary summary = Summarise({}, 100);
  EXPECT_EQ(summary.mean, 0);
  EXPECT_EQ(summary.max, 0);
}

}  // namespace
}  // namespace evenpack
