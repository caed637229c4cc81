#include "gpu_worker/communicator/row_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack::worker {
namespace {

using ::testing::ElementsAre;

ExchangedTensor From(const std::vector<int>& numbers, size_t columns) {
  return {numbers.data(), columns * sizeof(int), nullptr, 0};
}
ExchangedTensor To(std::vector<int>& numbers, size_t columns) {
  return {nullptr, 0, numbers.data(), columns * sizeof(int)};
}

void Copy(const ExchangedTensor& from, const std::vector<RowRange>& sent,
          const ExchangedTensor& to, const std::vector<RowRange>& received,
          size_t row_bytes) {
  CopyRows(CopiesOf({&from, 1}, {&to, 1}, MovesOf(sent, received), row_bytes));
}

TEST(RowCopiesTest, RangesNeedNotBeginAndEndTogether) {
  const std::vector<int> from = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int> to(8, -1);
  Copy(From(from, 1), {{4, 3}, {0, 1}, {2, 1}}, To(to, 1), {{7, 1}, {0, 1}, {2, 3}},
       sizeof(int));
  EXPECT_THAT(to, ElementsAre(5, -1, 6, 0, 2, -1, -1, 4));
}

TEST(RowCopiesTest, StridesMayDiffer) {
  const std::vector<int> from = {0, 1, 2, 3, 4, 5};  // rows of 3, of which 2 travel
  std::vector<int> to(8, -1);                        // into rows of 4
  Copy(From(from, 3), {{0, 2}}, To(to, 4), {{0, 2}}, 2 * sizeof(int));
  EXPECT_THAT(to, ElementsAre(0, 1, -1, -1, 3, 4, -1, -1));
}

TEST(RowCopiesTest, MovesAreSortedByTheRowsThatTheyGoTo) {
  std::vector<RowMove> moves = {{0, 9, 2}, {2, 1, 3}, {5, 4, 1}};
  SortByTo(moves);
  EXPECT_THAT(moves, ElementsAre(RowMove{2, 1, 3}, RowMove{5, 4, 1}, RowMove{0, 9, 2}));
}

TEST(RowCopiesTest, RowsWithinBeginAndEndInAnyRange) {
  const std::vector<RowRange> ranges = {{40, 3}, {0, 0}, {10, 2}, {20, 5}};
  EXPECT_THAT(RowsWithin(ranges, 0, 10), ElementsAre(ranges[0], ranges[2], ranges[3]));
  EXPECT_THAT(RowsWithin(ranges, 1, 1), ElementsAre(RowRange{41, 1}));
  EXPECT_THAT(RowsWithin(ranges, 2, 4),
              ElementsAre(RowRange{42, 1}, RowRange{10, 2}, RowRange{20, 1}));
  EXPECT_THAT(RowsWithin(ranges, 6, 4), ElementsAre(RowRange{21, 4}));
  EXPECT_THAT(RowsWithin(ranges, 3, 0), ElementsAre());
}

TEST(RowCopiesTest, NoRowsAreNoCopies) { Copy({}, {}, {}, {}, 4); }

}  // namespace
}  // namespace evenpack::worker
