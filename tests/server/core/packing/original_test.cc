#include "server/core/packing/original.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;

struct OriginalCase {
  std::string what;
  std::vector<uint32_t> lengths;
  bool split;
  Bins bins;
  std::vector<uint32_t> left_over;
};

TEST(PackOriginalTest, ThreeMicroBatchesOfTen) {
  const OriginalCase cases[] = {
      {"nothing", {}, false, {{}, {}, {}}, {}},
      {"in order", {4, 6, 3, 7, 10}, false, {{4, 6}, {3, 7}, {10}}, {}},
      {"no going back", {4, 7, 5, 3}, false, {{4}, {7}, {5, 3}}, {}},
      {"the rest waits", {6, 6, 6, 6, 1}, false, {{6}, {6}, {6}}, {6, 1}},
      {"overlong alone", {2, 15, 3}, false, {{2}, {15}, {3}}, {}},
      {"overlong first", {15, 3}, false, {{15}, {3}, {}}, {}},
      {"cut at the boundary", {4, 7, 5}, true, {{4, 6}, {1, 5}, {}}, {}},
      {"cut twice", {25, 3}, true, {{10}, {10}, {5, 3}}, {}},
      {"the cut rest waits", {4, 30, 9}, true, {{4, 6}, {10}, {10}}, {4, 9}},
      {"exactly full is not cut", {10, 10, 10, 1}, true, {{10}, {10}, {10}}, {1}},
  };
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  for (const OriginalCase& c : cases) {
    const std::vector<Document> documents = testing::MakeDocuments(c.lengths);
    const Packing packing = PackOriginal(
        PointTo(documents),
        {.micro_batches = 3, .capacity = {.tokens = 10}, .split_documents = c.split},
        workload);
    EXPECT_EQ(testing::LengthsOf(packing), c.bins) << c.what;
    std::vector<uint32_t> left_over = testing::LengthsOf(packing.left_over);
    if (packing.rest.has_value()) {
      left_over.insert(left_over.begin(), packing.rest->length);
    }
    EXPECT_EQ(left_over, c.left_over) << c.what;
  }
}

TEST(PackOriginalTest, PaddedDocumentsAndTheirNumberStayWithinTheCapacity) {
  const OriginalCase cases[] = {
      {"padded", {5, 5, 3, 1}, false, {{5}, {5, 3}, {1}}, {}},
      {"two at most", {1, 1, 1, 4, 4}, false, {{1, 1}, {1, 4}, {4}}, {}},
      {"overlong with padding", {9, 13, 4}, false, {{9}, {13}, {4}}, {}},
      {"cut where padding leaves room", {5, 9, 2}, true, {{5, 4}, {5, 2}, {}}, {}},
      {"a full one is not cut into", {1, 1, 9, 20}, true, {{1, 1}, {9}, {12}}, {8}},
  };
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  OriginalOptions options;
  options.micro_batches = 3;
  options.capacity = {.tokens = 12, .documents = 2};
  options.capacity.padding.document_unit = 4;
  for (const OriginalCase& c : cases) {
    options.split_documents = c.split;
    const std::vector<Document> documents = testing::MakeDocuments(c.lengths);
    const Packing packing = PackOriginal(PointTo(documents), options, workload);
    EXPECT_EQ(testing::LengthsOf(packing), c.bins) << c.what;
    EXPECT_EQ(packing.rest.has_value() ? std::vector{packing.rest->length}
                                       : testing::LengthsOf(packing.left_over),
              c.left_over)
        << c.what;
    for (const MicroBatch& micro_batch : packing.micro_batches) {
      EXPECT_EQ((micro_batch.tokens + micro_batch.padding) % 4, 0U) << c.what;
    }
  }
}

TEST(PackOriginalTest, PiecesOfACutDocumentJoinUp) {
  const Packing packing = PackOriginal(
      PointTo(testing::MakeDocuments({4, 12})),
      {.micro_batches = 2, .capacity = {.tokens = 10}, .split_documents = true},
      testing::QuadraticWorkload(10, 100));
  const Document& first = packing.micro_batches[0].documents[1];
  const Document& second = packing.micro_batches[1].documents[0];
  EXPECT_EQ(first.offset, 0U);
  EXPECT_EQ(second.offset, 6U);
  EXPECT_EQ(second.document_length, 12U);
  EXPECT_TRUE(EndsDocument(second));
}

TEST(OriginalEndsTest, AreThoseOfPackOriginal) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    const auto micro_batches = 1 + random() % 5;
    std::vector<uint32_t> lengths(random() % 40);
    for (uint32_t& length : lengths) {
      length = static_cast<uint32_t>(1 + random() % 130);
    }
    const std::vector<Document> documents = testing::MakeDocuments(lengths);
    const Packing packing = PackOriginal(
        PointTo(documents),
        {.micro_batches = micro_batches, .capacity = {.tokens = 100}}, workload);
    const std::vector<size_t> ends = OriginalEnds(lengths, micro_batches, 100);
    ASSERT_EQ(ends.size(), micro_batches);
    size_t begin = 0;
    for (size_t i = 0; i < micro_batches; ++i) {
      EXPECT_TRUE(
          std::ranges::equal(packing.micro_batches[i].documents,
                             std::span(documents).subspan(begin, ends[i] - begin)));
      begin = ends[i];
    }
    EXPECT_EQ(packing.left_over.size(), documents.size() - begin);
  }
}

}  // namespace
}  // namespace evenpack
