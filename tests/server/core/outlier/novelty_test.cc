#include "server/core/outlier/novelty.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr size_t kBatches = 200;

// After batches of 100 documents that `length` gives by batch and place.
template <typename Length>
uint64_t After(Length length) {
  uint64_t novelty = 0;
  LengthSketch sketch;
  for (size_t batch = 0; batch < kBatches; ++batch) {
    std::vector<uint32_t> lengths;
    for (size_t i = 0; i < 100; ++i) lengths.push_back(length(batch, i));
    const std::vector<Document> admitted = testing::MakeDocuments(lengths);
    sketch.Age();
    for (const Document& document : admitted) sketch.Add(document.length);
    novelty = NoveltyAfter(novelty, sketch, admitted);
  }
  return novelty;
}

TEST(NoveltyTest, NothingIsNewWhereBatchesAreAlike) {
  EXPECT_EQ(After([](size_t, size_t i) { return i < 90 ? 1000U : 90'000U; }), 0U);
}

TEST(NoveltyTest, LittleIsNewWhereLengthsAreDrawn) {
  std::mt19937_64 random(1);
  const uint64_t novelty =
      After([&random](size_t, size_t) { return testing::Draw(random, 1, 131'072); });
  EXPECT_GT(novelty, 0U);
  EXPECT_LT(novelty, kNoveltyUnit / 8);
}

TEST(NoveltyTest, MostIsNewWhereLengthsRise) {
  EXPECT_GT(After([](size_t batch, size_t) { return uint32_t{1} << (batch / 12); }),
            kNoveltyUnit / 2);
}

TEST(NoveltyTest, ABatchMovesItByAnEighth) {
  const std::vector<Document> admitted = testing::MakeDocuments({1000});
  LengthSketch sketch;
  for (int i = 0; i < 1000; ++i) sketch.Add(100'000);
  const uint64_t all = NoveltyAfter(kNoveltyUnit, sketch, admitted);
  EXPECT_GE(all, kNoveltyUnit - 8);
  const uint64_t first = NoveltyAfter(0, sketch, admitted);
  EXPECT_NEAR(static_cast<double>(first), kNoveltyUnit / 8.0, 8);
}

TEST(NoveltyTest, NothingOverflows) {
  const std::vector<Document> admitted =
      testing::MakeDocuments({std::numeric_limits<int32_t>::max(), 1});
  const LengthSketch sketch(
      std::vector<uint64_t>(LengthSketch::kBuckets, LengthSketch::kMaxWeight));
  EXPECT_LE(NoveltyAfter(std::numeric_limits<uint64_t>::max(), sketch, admitted),
            kNoveltyUnit);
  EXPECT_EQ(NoveltyAfter(0, {}, {}), 0U);
}

TEST(PriceWhereNewTest, FallsAboveAHalf) {
  constexpr uint32_t kPrice = 128'000;
  EXPECT_EQ(PriceWhereNew(0, kPrice), kPrice);
  EXPECT_EQ(PriceWhereNew(kNoveltyUnit / 2, kPrice), kPrice);
  EXPECT_EQ(PriceWhereNew(kNoveltyUnit / 4 * 3, kPrice), kPrice / 128);
  EXPECT_EQ(PriceWhereNew(kNoveltyUnit, kPrice), kPrice / 128);
  EXPECT_EQ(PriceWhereNew(std::numeric_limits<uint64_t>::max(), kPrice), kPrice / 128);
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  EXPECT_EQ(PriceWhereNew(0, kMost), kMost);
  // (2 x 0.4)^8.
  EXPECT_NEAR(PriceWhereNew(kNoveltyUnit / 10 * 6, 1'000'000), 167'772, 200);
}

}  // namespace
}  // namespace evenpack
