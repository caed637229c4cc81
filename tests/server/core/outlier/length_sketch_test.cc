#include "server/core/outlier/length_sketch.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

TEST(LengthSketchTest, BucketsHoldLengthsWithinAnEighth) {
  for (size_t bucket = 1; bucket < LengthSketch::kBuckets; ++bucket) {
    const uint64_t least = LengthSketch::LeastOf(bucket);
    const uint64_t next = bucket + 1 < LengthSketch::kBuckets
                              ? LengthSketch::LeastOf(bucket + 1)
                              : uint64_t{1} << 31;
    ASSERT_LT(least, next) << bucket;
    EXPECT_LE((next - 1 - least) * 8, least) << bucket;
    for (const uint64_t length : {least, next - 1}) {
      EXPECT_EQ(LengthSketch::BucketOf(static_cast<uint32_t>(length)), bucket);
    }
    const uint32_t middle = LengthSketch::MiddleOf(bucket);
    EXPECT_EQ(LengthSketch::BucketOf(middle), bucket);
  }
}

TEST(LengthSketchTest, TokensAreThoseOfTheStreamWithinABucket) {
  LengthSketch sketch;
  double tokens = 0;
  for (const uint32_t length : testing::SkewedLengths(3, 5000, 131072)) {
    sketch.Add(length);
    tokens += length;
  }
  const double measured =
      static_cast<double>(sketch.Tokens()) / double{LengthSketch::kUnit};
  EXPECT_NEAR(measured / tokens, 1, 0.0625);
}

TEST(LengthSketchTest, ForgetsWhatNoLongerComes) {
  LengthSketch sketch;
  sketch.Add(100'000);
  uint64_t before = sketch.weights().back();
  // Half of it within 44 batches; a single batch changes little.
  for (int batch = 0; batch < 44; ++batch) {
    sketch.Age();
    EXPECT_GE(sketch.weights().back() * 64, before * 63 - 64);
    before = sketch.weights().back();
  }
  EXPECT_NEAR(static_cast<double>(before), LengthSketch::kUnit / 2.0, 60);
  for (int batch = 0; batch < 1000; ++batch) sketch.Age();
  EXPECT_TRUE(sketch.empty());
}

TEST(LengthSketchTest, SettlesAtTheMixtureThatComes) {
  LengthSketch sketch;
  for (int batch = 0; batch < 1000; ++batch) {
    sketch.Age();
    for (int i = 0; i < 30; ++i) sketch.Add(1000);
    sketch.Add(90'000);
  }
  const auto& weights = sketch.weights();
  const double share = static_cast<double>(weights[LengthSketch::BucketOf(1000)]) /
                       static_cast<double>(weights[LengthSketch::BucketOf(90'000)]);
  EXPECT_NEAR(share, 30, 0.1);
}

TEST(LengthSketchTest, WeightsEndAtTheirMost) {
  std::vector<uint64_t> weights(2, 0);
  weights[1] = LengthSketch::kMaxWeight;
  LengthSketch sketch(weights);
  sketch.Add(1);
  EXPECT_EQ(sketch.weights()[1], LengthSketch::kMaxWeight);
}

TEST(LengthSketchTest, WeightsThatNoSketchHasAreTold) {
  EXPECT_TRUE(LengthSketch::AreWeights({}));
  EXPECT_TRUE(LengthSketch::AreWeights({0, 5}));
  EXPECT_FALSE(LengthSketch::AreWeights({5, 0}));
  EXPECT_FALSE(LengthSketch::AreWeights({0, LengthSketch::kMaxWeight + 1}));
  std::vector<uint64_t> all(LengthSketch::kBuckets, 1);
  all.front() = 0;
  EXPECT_TRUE(LengthSketch::AreWeights(all));
  all.push_back(1);
  EXPECT_FALSE(LengthSketch::AreWeights(all));
  // Tokens of which there are none would be divided by.
  EXPECT_FALSE(LengthSketch::AreWeights({5}));
  EXPECT_FALSE(LengthSketch::AreWeights({5, 1}));
}

TEST(LengthSketchTest, RatesTimesLengthsAreAWhole) {
  LengthSketch sketch;
  for (int i = 0; i < 30; ++i) sketch.Add(1000);
  sketch.Add(90'000);
  const std::vector<absl::uint128> rates = sketch.RatesPerToken();
  ASSERT_EQ(rates.size(), sketch.weights().size());
  absl::uint128 whole = 0;
  for (size_t bucket = 0; bucket < rates.size(); ++bucket) {
    whole += rates[bucket] * LengthSketch::MiddleOf(bucket);
  }
  const absl::uint128 one = absl::uint128(1) << LengthSketch::kRateBits;
  EXPECT_LE(whole, one);
  EXPECT_GT(whole, one - LengthSketch::MiddleOf(rates.size()) * rates.size());
  EXPECT_EQ(rates[LengthSketch::BucketOf(1000)] / rates.back(), 30U);
}

}  // namespace
}  // namespace evenpack
