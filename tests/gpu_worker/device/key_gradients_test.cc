#include "gpu_worker/device/key_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "gpu_worker/device/device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint16_t> Numbers(size_t count) {
  std::vector<uint16_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = ToBfloat16(static_cast<float>(i));
  }
  return numbers;
}

// Of two slices that see the same keys, the second of which sees more of them.
KeyGradients OfTwoSlices() {
  KeyGradients left;
  left.type = ElementType::kBfloat16;
  left.moves = {{{0, 0, 2}}, {{2, 0, 3}}};
  return left;
}

struct Sums {
  std::vector<float> keys;
  std::vector<float> values;
};

// Of three rows.
Sums SumsOf(const std::vector<ColumnTerm>& terms, size_t columns) {
  Sums sums = {std::vector<float>(3 * columns), std::vector<float>(3 * columns)};
  EXPECT_THAT(SumColumns(terms,
                         {ElementType::kFloat32,
                          {sums.keys.data(), sums.values.data()},
                          columns * sizeof(float),
                          columns,
                          3},
                         Device::Host()),
              IsOk());
  return sums;
}

TEST(KeyGradientsTest, WhatAnEngineLeftIsSummedFromItsColumnOn) {
  const std::vector<uint16_t> numbers = Numbers(5 * 4 + 1);
  KeyGradients left = OfTwoSlices();
  left.parts = {{numbers.data(), numbers.data() + 1, 4}};
  std::vector<ColumnTerm> terms;
  AppendTerms({&left, 1}, 2, 1, terms);
  ASSERT_EQ(terms.size(), 2U);
  const Sums sums = SumsOf(terms, 1);
  EXPECT_THAT(sums.keys, ElementsAre(2 + 10, 6 + 14, 18));
  EXPECT_THAT(sums.values, ElementsAre(3 + 11, 7 + 15, 19));
}

// Rows of 2 columns and rows of 1, of which the sums have the second and the third.
TEST(KeyGradientsTest, PartsAreSummedEachInItsColumns) {
  const std::vector<uint16_t> first = Numbers(5 * 2);
  const std::vector<uint16_t> second = Numbers(5 * 1);
  KeyGradients left = OfTwoSlices();
  left.parts = {{first.data(), first.data(), 2}, {second.data(), second.data(), 1}};
  std::vector<ColumnTerm> terms;
  AppendTerms({&left, 1}, 1, 2, terms);
  const Sums sums = SumsOf(terms, 2);
  EXPECT_THAT(sums.keys, ElementsAre(1 + 5, 0 + 2, 3 + 7, 1 + 3, 9, 4));
  EXPECT_EQ(sums.values, sums.keys);
}

TEST(KeyGradientsTest, PartsOfOtherColumnsHaveNoTerm) {
  const std::vector<uint16_t> numbers = Numbers(5 * 2);
  KeyGradients left = OfTwoSlices();
  left.parts = {{numbers.data(), numbers.data(), 2}};
  std::vector<ColumnTerm> terms;
  AppendTerms({&left, 1}, 2, 4, terms);
  EXPECT_THAT(terms, IsEmpty());
}

}  // namespace
}  // namespace evenpack::worker
