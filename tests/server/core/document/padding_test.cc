#include "server/core/document/padding.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr uint32_t kLadder[] = {16, 64, 96};

MicroBatch Of(const std::vector<uint32_t>& lengths) {
  MicroBatch micro_batch;
  micro_batch.documents = testing::MakeDocuments(lengths);
  for (const uint32_t length : lengths) micro_batch.tokens += length;
  return micro_batch;
}

struct Row {
  const char* what;
  PaddingRule rule;
  std::vector<uint32_t> lengths;
  uint64_t padding;
};

TEST(PaddingOfTest, PadsDocumentsAndThenTheWhole) {
  const Row rows[] = {
      {"none", {}, {5, 4}, 0},
      {"each document", {4, 4, {}}, {5, 4, 1}, 6},
      {"the whole", {1, 16, {}}, {5, 4, 1}, 6},
      {"each document and the whole", {4, 24, {}}, {5, 4, 1}, 14},
      {"nothing to do", {4, 8, {}}, {4, 4}, 0},
      {"to the first rung", {1, 1, kLadder}, {5, 4}, 7},
      {"to a later rung", {8, 8, kLadder}, {9, 4}, 64 - 13},
      {"exactly a rung", {8, 8, kLadder}, {9, 40}, 64 - 49},
      {"beyond the last rung", {8, 8, kLadder}, {97}, 7},
      {"an empty one", {4, 24, {}}, {}, 0},
      {"an empty one with a ladder", {8, 8, kLadder}, {}, 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PaddingOf(row.rule, Of(row.lengths)), row.padding) << row.what;
  }
}

TEST(PaddedLengthTest, IsTheNextMultiple) {
  PaddingRule rule;
  EXPECT_EQ(PaddedLength(rule, 2147483647), 2147483647U);
  rule.document_unit = 1000;
  EXPECT_EQ(PaddedLength(rule, 1), 1000U);
  EXPECT_EQ(PaddedLength(rule, 1000), 1000U);
  EXPECT_EQ(PaddedLength(rule, 2147483647), 2147484000U);
}

TEST(CapacityWithinTest, IsWhatCanBePaddedWithinTheLimit) {
  const struct {
    PaddingRule rule;
    uint32_t limit;
    uint32_t capacity;
  } rows[] = {
      {{}, 100, 100},           {{4, 4, {}}, 103, 100},     {{4, 24, {}}, 103, 96},
      {{1, 128, {}}, 100, 0},   {{1, 1, kLadder}, 95, 64},  {{1, 1, kLadder}, 96, 96},
      {{1, 1, kLadder}, 15, 0}, {{1, 1, kLadder}, 500, 96},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(CapacityWithin(row.rule, row.limit), row.capacity) << row.limit;
  }
}

// Whatever fills a capacity stays within its limit once it is padded, and one more
// document of any length would not have.
TEST(CapacityWithinTest, HoldsWhateverTheDocuments) {
  std::mt19937_64 random(83);
  for (int round = 0; round < 2000; ++round) {
    PaddingRule rule;
    rule.document_unit = testing::Draw(random, 1, 12);
    rule.total_unit = rule.document_unit * testing::Draw(random, 1, 9);
    const std::vector<uint32_t> ladder = {rule.total_unit * 2, rule.total_unit * 5,
                                          rule.total_unit * 7};
    if (round % 3 == 0) rule.ladder = ladder;
    const uint32_t limit = testing::Draw(random, 1, 1200);
    const uint32_t capacity = CapacityWithin(rule, limit);
    std::vector<uint32_t> lengths;
    uint64_t used = 0;
    while (used < capacity) {
      lengths.push_back(
          testing::Draw(random, 1, static_cast<uint32_t>(capacity - used)));
      used += PaddedLength(rule, lengths.back());
    }
    ASSERT_EQ(used, capacity);
    MicroBatch micro_batch = Of(lengths);
    ASSERT_LE(micro_batch.tokens + PaddingOf(rule, micro_batch), limit);
    lengths.push_back(1);
    micro_batch = Of(lengths);
    const uint64_t more = micro_batch.tokens + PaddingOf(rule, micro_batch);
    ASSERT_TRUE(more > limit || (!rule.ladder.empty() && more > ladder.back()));
  }
}

}  // namespace
}  // namespace evenpack
