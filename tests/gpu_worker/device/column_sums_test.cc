#include "gpu_worker/device/column_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/device/host_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Counts sums, and fails where it is told to.
class SumDevice final : public HostDevice {
 public:
  absl::Status SumRows(std::span<const RowTerm> terms, const RowSums& of) override {
    sums.push_back(of.columns);
    return status.ok() ? HostDevice::SumRows(terms, of) : status;
  }
  // Columns of each.
  std::vector<size_t> sums;
  absl::Status status;
};

class ColumnSumsTest : public ::testing::Test {
 protected:
  // Of both rows, from this column on.
  ColumnTerm Term(const std::vector<float>& numbers, size_t begin, size_t end) const {
    return {{ElementType::kFloat32,
             {numbers.data(), numbers.data()},
             (end - begin) * sizeof(float),
             both_},
            begin,
            end};
  }
  absl::Status Sum(const std::vector<ColumnTerm>& terms) {
    return SumColumns(terms,
                      {ElementType::kFloat32,
                       {keys_.data(), values_.data()},
                       4 * sizeof(float),
                       4,
                       2},
                      device_);
  }

  const std::vector<RowMove> both_ = {{0, 0, 2}};
  SumDevice device_;
  std::vector<float> keys_ = std::vector<float>(8, -1);
  std::vector<float> values_ = std::vector<float>(8, -1);
};

TEST_F(ColumnSumsTest, TermsOfAllColumnsAreOneSum) {
  const std::vector<float> first = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(Sum({Term(first, 0, 4), Term(first, 0, 4)}), IsOk());
  EXPECT_THAT(keys_, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(values_, keys_);
  EXPECT_THAT(device_.sums, ElementsAre(4));
}

TEST_F(ColumnSumsTest, EachColumnHasItsTerms) {
  const std::vector<float> all = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> left = {10, 20, 30, 40, 50, 60};
  const std::vector<float> right = {100, 200, 300, 400};
  EXPECT_THAT(Sum({Term(left, 0, 3), Term(all, 0, 4), Term(right, 2, 4)}), IsOk());
  EXPECT_THAT(keys_, ElementsAre(11, 22, 133, 204, 45, 56, 367, 408));
  EXPECT_EQ(values_, keys_);
  EXPECT_THAT(device_.sums, ElementsAre(2, 1, 1));
}

TEST_F(ColumnSumsTest, ColumnsWithoutATermAreNought) {
  EXPECT_THAT(Sum({Term({1, 2}, 1, 2)}), IsOk());
  EXPECT_THAT(keys_, ElementsAre(0, 1, 0, 0, 0, 2, 0, 0));
  EXPECT_THAT(Sum({}), IsOk());
  EXPECT_THAT(keys_, Each(0));
}

TEST_F(ColumnSumsTest, AnErrorOfTheDeviceEndsIt) {
  device_.status = absl::InternalError("gone");
  EXPECT_THAT(Sum({Term({1, 2}, 1, 2)}), StatusIs(absl::StatusCode::kInternal, "gone"));
  EXPECT_THAT(device_.sums, ElementsAre(1));
}

}  // namespace
}  // namespace evenpack::worker
