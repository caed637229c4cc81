#include "server/core/packing/work_list.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

std::vector<uint64_t> Sequences(const WorkList& work_list) {
  std::vector<uint64_t> sequences;
  for (const Document* document : work_list) sequences.push_back(document->sequence);
  return sequences;
}

TEST(WorkListTest, PointsInOrder) {
  const std::vector<Document> documents = testing::MakeDocuments({3, 9, 4});
  EXPECT_EQ(Sequences(PointTo(documents)), (std::vector<uint64_t>{0, 1, 2}));
}

TEST(WorkListTest, EqualLengthsKeepTheirOrder) {
  const std::vector<Document> documents =
      testing::MakeDocuments({3, 2147483647, 3, 1, 7, 3, 1});
  WorkList work_list = PointTo(documents);
  SortLongestFirst(work_list);
  EXPECT_EQ(Sequences(work_list), (std::vector<uint64_t>{1, 4, 0, 2, 5, 3, 6}));
}

TEST(WorkListTest, SortsAsStableSortDoesAtAnySize) {
  for (const size_t count : {0U, 1U, 100U, 511U, 512U, 5000U, 70000U}) {
    for (const uint32_t longest : {3U, 5000U, 2147483647U}) {
      const std::vector<Document> documents =
          testing::MakeDocuments(testing::SkewedLengths(3, count, longest));
      WorkList work_list = PointTo(documents);
      SortLongestFirst(work_list);
      EXPECT_EQ(Sequences(work_list),
                Sequences(PointTo(testing::LongestFirst(documents))))
          << count << " up to " << longest;
    }
  }
}

TEST(WorkListTest, OldestFirstIsByAdmissionWhateverTheOrderGiven) {
  const std::vector<Document> documents = testing::MakeDocuments({3, 9, 4, 9});
  WorkList work_list = PointTo(documents);
  SortLongestFirst(work_list);
  SortOldestFirst(work_list);
  EXPECT_EQ(Sequences(work_list), (std::vector<uint64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace evenpack
