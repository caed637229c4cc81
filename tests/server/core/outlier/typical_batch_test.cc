#include "server/core/outlier/typical_batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

uint64_t TokensOf(const std::vector<Document>& documents) {
  uint64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return tokens;
}

TEST(TypicalBatchTest, NothingIsTypicalOfAnEmptySketch) {
  EXPECT_TRUE(TypicalBatch({}, 1'000'000, 1).empty());
}

TEST(TypicalBatchTest, HoldsTheStreamsMixture) {
  LengthSketch sketch;
  for (int i = 0; i < 9; ++i) sketch.Add(4096);
  sketch.Add(65536);
  // Ten batches' worth of these.
  const uint64_t tokens =
      static_cast<uint64_t>(sketch.Tokens()) / LengthSketch::kUnit * 10;
  const std::vector<Document> batch = TypicalBatch(sketch, tokens, 1);
  ASSERT_EQ(batch.size(), 100U);
  for (size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(LengthSketch::BucketOf(batch[i].length),
              LengthSketch::BucketOf(i < 10 ? 65536 : 4096));
  }
}

TEST(TypicalBatchTest, HasAboutTheTokensLongestFirst) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    LengthSketch sketch;
    for (const uint32_t length : testing::SkewedLengths(seed, 5000, 131072)) {
      sketch.Add(length);
    }
    for (const uint64_t tokens : {uint64_t{1} << 17, uint64_t{1} << 23}) {
      const std::vector<Document> batch = TypicalBatch(sketch, tokens, 512);
      EXPECT_LE(batch.size(), tokens / 512 + 1);
      EXPECT_TRUE(std::is_sorted(
          batch.begin(), batch.end(),
          [](const Document& a, const Document& b) { return a.length > b.length; }));
      // Off by less than a document of the longest.
      EXPECT_NEAR(static_cast<double>(TokensOf(batch)), static_cast<double>(tokens),
                  131072.0);
    }
  }
}

TEST(TypicalBatchTest, WhatIsShortIsTakenTogether) {
  LengthSketch sketch;
  sketch.Add(1);
  const std::vector<Document> batch = TypicalBatch(sketch, uint64_t{1} << 40, 1 << 30);
  ASSERT_EQ(batch.size(), 1024U);
  EXPECT_EQ(batch[0].length, uint32_t{1} << 30);
}

}  // namespace
}  // namespace evenpack
