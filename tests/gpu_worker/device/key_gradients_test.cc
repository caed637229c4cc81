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

// Of two slices that see the same keys, the second of which sees more of them.
TEST(KeyGradientsTest, WhatAnEngineLeftIsSummedFromItsColumnOn) {
  std::vector<uint16_t> numbers(5 * 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = ToBfloat16(static_cast<float>(i));
  }
  KeyGradients left;
  left.type = ElementType::kBfloat16;
  left.key = numbers.data();
  left.value = numbers.data() + 1;
  left.stride = 4;
  left.moves = {{{0, 0, 2}}, {{2, 0, 3}}};
  std::vector<RowTerm> terms;
  AppendTerms({&left, 1}, 2, terms);
  ASSERT_EQ(terms.size(), 2U);
  std::vector<float> keys(3);
  std::vector<float> values(3);
  EXPECT_THAT(
      Device::Host().SumRows(
          terms, {ElementType::kFloat32, {keys.data(), values.data()}, 4, 1, 3}),
      IsOk());
  EXPECT_THAT(keys, ElementsAre(2 + 10, 6 + 14, 18));
  EXPECT_THAT(values, ElementsAre(3 + 11, 7 + 15, 19));
}

}  // namespace
}  // namespace evenpack::worker
