#include "gpu_worker/attention/softmax_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace evenpack::worker {
namespace {

std::vector<float> Values(size_t count, float least, float most, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto part = static_cast<float>(random() >> 40) * 0x1p-24F;
    value = least + part * (most - least);
  }
  return values;
}

TEST(SoftmaxRowTest, FindsTheLargestOfAnyNumber) {
  for (size_t count = 1; count < 70; ++count) {
    const std::vector<float> values = Values(count, -5, 5, count);
    EXPECT_EQ(LargestOf(values.data(), count),
              *std::max_element(values.begin(), values.end()));
  }
}

TEST(SoftmaxRowTest, ExponentialsAreExactToTwoPlaces) {
  std::vector<float> values = Values(200'000, -86.9F, 0, 1);
  values.push_back(0);
  const std::vector<float> before = values;
  ExponentiateRow(values.data(), values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = std::exp(double{before[i]});
    ASSERT_NEAR(values[i], exact, 2.4e-7 * exact) << before[i];
  }
}

TEST(SoftmaxRowTest, SumsWhatItWrites) {
  for (const size_t count : {1U, 15U, 16U, 17U, 64U, 255U, 256U}) {
    std::vector<float> values = Values(count, -3, 4, count);
    const std::vector<float> before = values;
    const float sum = ExponentiateRow(values.data(), count, 4);
    double expected = 0;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(values[i], std::exp(before[i] - 4), 1e-6);
      expected += values[i];
    }
    EXPECT_NEAR(sum, expected, 1e-5 * expected);
  }
  EXPECT_EQ(ExponentiateRow(nullptr, 0, 1), 0);
}

TEST(SoftmaxRowTest, WhatIsNothingBesideTheLargestIsNought) {
  std::vector<float> values = Values(40, -1000, -200, 3);
  values[17] = 50;
  EXPECT_EQ(ExponentiateRow(values.data(), values.size(), 50), 1);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0F), 39);
}

// Where no number below the largest is told from it by what exponentials can be.
TEST(SoftmaxRowTest, WhatIsNoneCountsNothingWhateverTheLargestIs) {
  for (const float largest : {4e9F, 1e20F, -1e20F, std::numeric_limits<float>::max()}) {
    for (size_t count = 1; count < 40; ++count) {
      std::vector<float> values(count, largest);
      EXPECT_EQ(ExponentiateRow(values.data(), count, largest),
                static_cast<float>(count))
          << largest;
      EXPECT_EQ(values, std::vector<float>(count, 1.0F));
    }
  }
}

TEST(SoftmaxRowTest, WeighsDifferences) {
  std::vector<float> values = {1, 2, 3, 4};
  const std::vector<float> factors = {0, 1, 10, -1};
  WeighRow(values.data(), factors.data(), 4, 1);
  EXPECT_EQ(values, (std::vector<float>{0, 1, 20, -3}));
}

}  // namespace
}  // namespace evenpack::worker
