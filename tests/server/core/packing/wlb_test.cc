#include "server/core/packing/wlb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;
using testing::MakeDocuments;

TEST(PackWlbTest, LengthsMayVaryUpToTheBound) {
  // Attention is free: balance is by tokens.
  const WorkloadTable workload = testing::QuadraticWorkload(1'000'000'000, 100);
  const Packing packing =
      PackWlb(PointTo(MakeDocuments({12, 4, 4, 4})), 2, {.tokens = 15}, workload);
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{12}, {4, 4, 4}}));
}

TEST(PackWlbTest, ADocumentOfExactlyTheBoundIsPacked) {
  const Packing packing = PackWlb(PointTo(MakeDocuments({15, 15})), 2, {.tokens = 15},
                                  testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{15}, {15}}));
  EXPECT_TRUE(packing.left_over.empty());
}

TEST(PackWlbTest, FallsBackToTheShortestMicroBatch) {
  // Crossover 10: one document of 12 outweighs three of 4, though it is as long.
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const Packing packing =
      PackWlb(PointTo(MakeDocuments({11, 4, 4, 4, 3})), 2, {.tokens = 15}, workload);
  // 4, 4, 4 go to the lighter second one; 3 then is short of room there only if it
  // exceeds the bound: 12 + 3 = 15 fits.
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{11}, {4, 4, 4, 3}}));
  const Packing fallback =
      PackWlb(PointTo(MakeDocuments({11, 4, 4, 4, 4})), 2, {.tokens = 15}, workload);
  EXPECT_EQ(testing::LengthsOf(fallback), (Bins{{11, 4}, {4, 4, 4}}));
}

TEST(PackWlbTest, WhatFitsNowhereIsLeftOverInOrder) {
  const std::vector<Document> documents = MakeDocuments({9, 9, 9, 2, 8});
  const Packing packing = PackWlb(PointTo(documents), 2, {.tokens = 10},
                                  testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{9}, {9}}));
  EXPECT_EQ(testing::LengthsOf(packing.left_over), (std::vector<uint32_t>{9, 2, 8}));
}

TEST(PackWlbTest, TiesGoToTheLowestIndex) {
  const Packing packing = PackWlb(PointTo(MakeDocuments({5, 5, 5, 5, 5})), 4,
                                  {.tokens = 10}, testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{5, 5}, {5}, {5}, {5}}));
}

TEST(PackWlbTest, LengthsAreThoseOfPaddedDocuments) {
  Capacity capacity = {.tokens = 16};
  capacity.padding.document_unit = 4;
  const Packing packing = PackWlb(PointTo(MakeDocuments({9, 5, 4, 1, 1})), 2, capacity,
                                  testing::QuadraticWorkload(1'000'000'000, 100));
  // 12 and 8 tokens; 4 makes the second one 12 as well, so a 1 goes to the first.
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{9, 1}, {5, 4, 1}}));
  EXPECT_EQ(packing.micro_batches[0].tokens, 10U);
  EXPECT_EQ(packing.micro_batches[0].padding, 6U);
  EXPECT_EQ(packing.micro_batches[1].padding, 6U);
}

TEST(PackWlbTest, AFullMicroBatchTakesNoMoreDocuments) {
  const std::vector<Document> documents = MakeDocuments({9, 4, 1, 1, 1, 1});
  const Packing packing = PackWlb(PointTo(documents), 2, {.tokens = 20, .documents = 2},
                                  testing::QuadraticWorkload(10, 100));
  EXPECT_EQ(testing::LengthsOf(packing), (Bins{{9, 1}, {4, 1}}));
  EXPECT_EQ(testing::LengthsOf(packing.left_over), (std::vector<uint32_t>{1, 1}));
}

// Algorithm 1 as it is written: search all bins for each document.
Bins PackWlbNaively(const std::vector<Document>& documents, size_t count,
                    const Capacity& capacity, const WorkloadTable& workload) {
  constexpr int64_t kFull = std::numeric_limits<int64_t>::max();
  Bins bins(count);
  std::vector<int64_t> attention(count, 0);
  std::vector<int64_t> loads(count, 0);
  std::vector<int64_t> tokens(count, 0);
  for (const Document& document : documents) {
    const auto size =
        static_cast<int64_t>(PaddedLength(capacity.padding, document.length));
    const int64_t room = int64_t{capacity.tokens} - size;
    auto bin = static_cast<size_t>(std::min_element(loads.begin(), loads.end()) -
                                   loads.begin());
    if (tokens[bin] > room) {
      bin = static_cast<size_t>(std::min_element(tokens.begin(), tokens.end()) -
                                tokens.begin());
    }
    if (tokens[bin] > room) continue;
    bins[bin].push_back(document.length);
    attention[bin] += workload.AttentionNs(document.length);
    tokens[bin] += size;
    loads[bin] = attention[bin] + workload.LinearNs(static_cast<uint64_t>(tokens[bin]));
    if (bins[bin].size() == capacity.documents) tokens[bin] = loads[bin] = kFull;
  }
  return bins;
}

TEST(PackWlbTest, AgreesWithASearchOverAllBins) {
  const WorkloadTable workload = testing::QuadraticWorkload(500, 2000);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Document> documents = testing::LongestFirst(
        MakeDocuments(testing::SkewedLengths(seed, 40 + seed * 7, 1500)));
    const size_t count = 1 + seed % 23;
    for (const Capacity& capacity : testing::Capacities(1500)) {
      EXPECT_EQ(
          testing::LengthsOf(PackWlb(PointTo(documents), count, capacity, workload)),
          PackWlbNaively(documents, count, capacity, workload))
          << seed;
    }
  }
}

TEST(PackWlbTest, FourThousandMicroBatches) {
  const std::vector<Document> documents =
      testing::LongestFirst(MakeDocuments(testing::SkewedLengths(6, 100'000, 1500)));
  const Packing packing = PackWlb(PointTo(documents), 4096, {.tokens = 12'000},
                                  testing::QuadraticWorkload(500, 12'000, 4096));
  size_t packed = 0;
  for (const MicroBatch& micro_batch : packing.micro_batches) {
    packed += micro_batch.documents.size();
  }
  EXPECT_EQ(packed, documents.size());
}

// The least heaviest workload over all assignments within the bound.
int64_t BruteForceOptimum(const std::vector<Document>& documents, size_t count,
                          uint32_t bound, const WorkloadTable& workload) {
  const auto assignments = static_cast<uint64_t>(
      std::pow(static_cast<double>(count), static_cast<double>(documents.size())));
  int64_t best = std::numeric_limits<int64_t>::max();
  for (uint64_t code = 0; code < assignments; ++code) {
    std::vector<int64_t> attention(count, 0);
    std::vector<uint64_t> tokens(count, 0);
    uint64_t rest = code;
    for (const Document& document : documents) {
      attention[rest % count] += workload.AttentionNs(document.length);
      tokens[rest % count] += document.length;
      rest /= count;
    }
    int64_t heaviest = 0;
    for (size_t b = 0; b < count; ++b) {
      if (tokens[b] > bound) heaviest = std::numeric_limits<int64_t>::max();
      if (heaviest == std::numeric_limits<int64_t>::max()) break;
      heaviest = std::max(heaviest, attention[b] + workload.LinearNs(tokens[b]));
    }
    best = std::min(best, heaviest);
  }
  return best;
}

// Longest-first greedy is within 4/3 - 1/(3N) of the optimum where the bound does not
// bind (Graham 1969); here the jobs' sizes are the documents' workloads.
TEST(PackWlbTest, IsWithinGrahamsFactorOfTheOptimumOnTinyCases) {
  const WorkloadTable workload = testing::QuadraticWorkload(300, 10'000);
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    const size_t count = 2 + static_cast<size_t>(round) % 2;
    std::vector<uint32_t> lengths(count == 2 ? 10 : 8);
    for (uint32_t& length : lengths) length = testing::Draw(random, 1, 1000);
    const std::vector<Document> documents =
        testing::LongestFirst(MakeDocuments(lengths));
    const Packing packing =
        PackWlb(PointTo(documents), count, {.tokens = 10'000}, workload);
    int64_t heaviest = 0;
    for (const MicroBatch& micro_batch : packing.micro_batches) {
      heaviest = std::max(heaviest, micro_batch.workload_ns);
    }
    const auto optimum =
        static_cast<double>(BruteForceOptimum(documents, count, 10'000, workload));
    const double factor = 4.0 / 3 - 1.0 / (3 * static_cast<double>(count));
    EXPECT_GE(static_cast<double>(heaviest), optimum);
    EXPECT_LE(static_cast<double>(heaviest), optimum * factor * 1.0001);
  }
}

}  // namespace
}  // namespace evenpack
