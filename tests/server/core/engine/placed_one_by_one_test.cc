#include "server/core/engine/placed_one_by_one.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::SketchOf;

TEST(PlacedOneByOneTest, AreThoseOfWhichABatchBringsFewForEachMicroBatch) {
  const JobSpec spec =
      testing::MakeSpec(PolicyKind::kBalanced, 4, testing::kLongWindow);
  // A batch of 512K tokens brings 4 of 64K, one to a micro-batch, and 256 of 1K.
  std::vector<uint32_t> lengths(64, 1024);
  lengths.insert(lengths.begin(), 1, 65536);
  const std::vector<Document> documents =
      testing::MakeDocuments({70'000, 65'536, 65'536, 1024, 1024, 100});
  EXPECT_EQ(PlacedOneByOne(spec, SketchOf(lengths), PointTo(documents)), 3U);
}

TEST(PlacedOneByOneTest, AreNeverMoreThanSixteenForEachMicroBatch) {
  const JobSpec spec =
      testing::MakeSpec(PolicyKind::kBalanced, 4, testing::kLongWindow);
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(500, testing::kLongWindow));
  EXPECT_EQ(PlacedOneByOne(spec, SketchOf({testing::kLongWindow}), PointTo(documents)),
            128U);
}

TEST(PlacedOneByOneTest, AreAsManyAsMayBeWhereEvenTheLongestComeOften) {
  const JobSpec spec =
      testing::MakeSpec(PolicyKind::kBalanced, 4, testing::kLongWindow);
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(500, 128));
  EXPECT_EQ(PlacedOneByOne(spec, SketchOf({128}), PointTo(documents)), 128U);
}

}  // namespace
}  // namespace evenpack
