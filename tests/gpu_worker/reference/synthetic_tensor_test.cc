#include "gpu_worker/reference/synthetic_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace evenpack::worker {
namespace {

std::vector<float> Row(uint64_t seed, TensorRole role, uint64_t document,
                       uint32_t position, size_t count = 64,
                       ElementType type = ElementType::kFloat32) {
  std::vector<float> row(count);
  FillSyntheticRow(seed, role, document, position, type, row);
  return row;
}

TEST(SyntheticTensorTest, ARowDependsOnEachArgument) {
  const std::set<std::vector<float>> rows = {
      Row(1, TensorRole::kQuery, 2, 3), Row(4, TensorRole::kQuery, 2, 3),
      Row(1, TensorRole::kKey, 2, 3), Row(1, TensorRole::kQuery, 5, 3),
      Row(1, TensorRole::kQuery, 2, 6)};
  EXPECT_EQ(rows.size(), 5U);
  EXPECT_EQ(Row(1, TensorRole::kQuery, 2, 3), Row(1, TensorRole::kQuery, 2, 3));
}

TEST(SyntheticTensorTest, AShorterRowIsTheStartOfALongerOne) {
  std::vector<float> row = Row(1, TensorRole::kValue, 0, 9, 256);
  row.resize(100);
  EXPECT_EQ(row, Row(1, TensorRole::kValue, 0, 9, 100));
}

// Computed by another program from the definition: the same on every machine.
TEST(SyntheticTensorTest, TheFirstNumbersAreKnown) {
  EXPECT_THAT(Row(7, TensorRole::kKey, 3, 11, 3),
              ::testing::ElementsAre(-1235307 * 0x1p-23F, 6568141 * 0x1p-23F,
                                     -3489425 * 0x1p-23F));
}

TEST(SyntheticTensorTest, NumbersAreSpreadEvenly) {
  const std::vector<float> row = Row(1, TensorRole::kQuery, 0, 0, 100'000);
  double sum = 0;
  double squares = 0;
  for (const float value : row) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.01);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.01);
}

TEST(SyntheticTensorTest, NumbersAreOnesThatTheTypeHas) {
  for (const ElementType type : kElementTypes) {
    const std::vector<float> row = Row(1, TensorRole::kQuery, 0, 0, 1000, type);
    std::vector<char> bytes(row.size() * BytesOf(type));
    Store(type, row.data(), row.size(), bytes.data());
    std::vector<float> loaded(row.size());
    Load(type, bytes.data(), row.size(), loaded.data());
    EXPECT_EQ(loaded, row) << ElementTypeName(type);
  }
}

}  // namespace
}  // namespace evenpack::worker
