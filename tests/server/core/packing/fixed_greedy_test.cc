#include "server/core/packing/fixed_greedy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;
using testing::MakeDocuments;

TEST(PackFixedGreedyTest, TheLightestWithRoomTakesTheDocument) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> documents = MakeDocuments({9, 6, 5, 4, 3, 2, 1});
  const Packing packing =
      PackFixedGreedy(PointTo(documents), 3, {.tokens = 10}, workload);
  // 4 joins 5, which is lighter than 6; 3 joins 6; 2 fits nowhere, 1 fits everywhere
  // and goes to the lightest.
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{9}, {5, 4, 1}, {6, 3}}));
  EXPECT_EQ(testing::LengthsOf(packing.left_over), (std::vector<uint32_t>{2}));
}

TEST(PackFixedGreedyTest, TiesGoToTheLowestIndex) {
  const Packing packing =
      PackFixedGreedy(PointTo(MakeDocuments({5, 5, 5, 5, 5})), 4, {.tokens = 10},
                      testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{5, 5}, {5}, {5}, {5}}));
}

TEST(PackFixedGreedyTest, AnOverlongDocumentIsAlone) {
  const std::vector<Document> documents = MakeDocuments({15, 12, 11, 1, 1});
  const Packing packing = PackFixedGreedy(PointTo(documents), 2, {.tokens = 10},
                                          testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{15}, {12}}));
  EXPECT_EQ(testing::LengthsOf(packing.left_over), (std::vector<uint32_t>{11, 1, 1}));
}

TEST(PackFixedGreedyTest, MicroBatchesComeHeaviestFirst) {
  const Packing packing = PackFixedGreedy(
      PointTo(
          testing::LongestFirst(MakeDocuments(testing::SkewedLengths(5, 300, 900)))),
      16, {.tokens = 1000}, testing::QuadraticWorkload(100, 2000));
  EXPECT_TRUE(std::is_sorted(packing.micro_batches.begin(), packing.micro_batches.end(),
                             [](const MicroBatch& a, const MicroBatch& b) {
                               return a.workload_ns > b.workload_ns;
                             }));
}

TEST(PackFixedGreedyTest, PaddedDocumentsAndTheirNumberStayWithinTheCapacity) {
  Capacity capacity = {.tokens = 16, .documents = 2};
  capacity.padding.document_unit = 4;
  const std::vector<Document> documents = MakeDocuments({18, 9, 5, 4, 1, 1});
  const Packing packing = PackFixedGreedy(PointTo(documents), 3, capacity,
                                          testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{18}, {9, 1}, {5, 4}}));
  EXPECT_EQ(packing.micro_batches[0].padding, 2U);
  EXPECT_EQ(packing.micro_batches[1].padding, 6U);
  EXPECT_EQ(testing::LengthsOf(packing.left_over), std::vector<uint32_t>{1});
}

// The definition, bin by bin.
Bins PackNaively(const std::vector<Document>& documents, size_t count,
                 const Capacity& capacity, const WorkloadTable& workload) {
  Bins bins(count);
  std::vector<int64_t> attention(count, 0);
  std::vector<uint64_t> tokens(count, 0);
  for (const Document& document : documents) {
    size_t best = count;
    int64_t best_workload = std::numeric_limits<int64_t>::max();
    const uint64_t size = PaddedLength(capacity.padding, document.length);
    for (size_t b = 0; b < count; ++b) {
      const int64_t load = attention[b] + workload.LinearNs(tokens[b]);
      const bool fits = tokens[b] == 0 || (tokens[b] + size <= capacity.tokens &&
                                           bins[b].size() < capacity.documents);
      if (fits && load < best_workload) {
        best = b;
        best_workload = load;
      }
    }
    if (best == count) continue;
    bins[best].push_back(document.length);
    attention[best] += workload.AttentionNs(document.length);
    tokens[best] += size;
  }
  return bins;
}

TEST(PackFixedGreedyTest, AgreesWithASearchOverAllBins) {
  const WorkloadTable workload = testing::QuadraticWorkload(500, 2000);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Document> documents = testing::LongestFirst(
        MakeDocuments(testing::SkewedLengths(seed, 40 + seed * 7, 1300)));
    const size_t count = 1 + seed % 23;
    for (const Capacity& capacity : testing::Capacities(1000)) {
      Bins expected = PackNaively(documents, count, capacity, workload);
      Bins actual = testing::LengthsOf(
          PackFixedGreedy(PointTo(documents), count, capacity, workload));
      std::sort(expected.begin(), expected.end());
      std::sort(actual.begin(), actual.end());
      EXPECT_EQ(actual, expected) << seed;
    }
  }
}

}  // namespace
}  // namespace evenpack
