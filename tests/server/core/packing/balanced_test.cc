#include "server/core/packing/balanced.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;

StepTerms Terms(size_t micro_batches, Capacity capacity) {
  StepTerms terms;
  terms.micro_batches = micro_batches;
  terms.capacity = capacity;
  // Nothing is worth a delay.
  terms.price.token_ps = int64_t{1} << 50;
  return terms;
}

TEST(PackBalancedTest, WhatIsDueGoesFirstAndWhatFitsNowhereIsLeftOver) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> due = testing::MakeDocuments({3, 9});
  const std::vector<Document> others = testing::MakeDocuments({9, 8, 1});
  const BalancedPacking packed =
      PackBalanced(PointTo(due), PointTo(others), Terms(2, {.tokens = 10}),
                   /*finish=*/true, workload);
  EXPECT_EQ(testing::LengthsOf(packed.packing.left_over),
            (std::vector<uint32_t>{9, 8}));
  EXPECT_EQ(testing::LengthsOf(packed.packing), (Bins{{3, 1}, {9}}));
}

TEST(PackBalancedTest, FinishingTrimsAndSearches) {
  const WorkloadTable workload = testing::QuadraticWorkload(1'000'000'000, 1000);
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(13, 50));
  StepTerms terms = Terms(3, {.tokens = 1000});
  terms.price.token_ps = 100;
  const BalancedPacking unfinished =
      PackBalanced({}, PointTo(documents), terms, false, workload);
  EXPECT_TRUE(unfinished.packing.left_over.empty());
  EXPECT_EQ(unfinished.operations, 0U);
  EXPECT_EQ(PackBalanced({}, PointTo(documents), terms, true, workload)
                .packing.left_over.size(),
            1U);
  // Longest first leaves 7+7+3 against 6+6+4; the search evens them out.
  const std::vector<Document> uneven = testing::MakeDocuments({70, 60, 50, 50, 30});
  const BalancedPacking packed =
      PackBalanced({}, PointTo(uneven), Terms(2, {.tokens = 1000}), true, workload);
  EXPECT_EQ(packed.packing.micro_batches[0].tokens, 130U);
  EXPECT_EQ(packed.packing.micro_batches[1].tokens, 130U);
  EXPECT_GT(packed.operations, 0U);
}

TEST(PackBalancedTest, EveryDocumentIsOnceThereOrLeftOver) {
  const WorkloadTable workload = testing::QuadraticWorkload(4'700, 20'000);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Document> documents = testing::LongestFirst(
        testing::MakeDocuments(testing::SkewedLengths(seed, 120, 9000)));
    const WorkList all = PointTo(documents);
    const WorkList due(all.begin(), all.begin() + 5);
    const WorkList goes(all.begin() + 5, all.end());
    for (const Capacity& capacity : testing::Capacities(20'000)) {
      StepTerms terms = Terms(4, capacity);
      terms.price.token_ps = 1000;
      const BalancedPacking packed = PackBalanced(due, goes, terms, true, workload);
      std::vector<uint64_t> seen;
      for (const MicroBatch& micro_batch : packed.packing.micro_batches) {
        EXPECT_LE(micro_batch.tokens + micro_batch.padding, 20'000U);
        EXPECT_LE(micro_batch.documents.size(), capacity.documents);
        for (const Document& document : micro_batch.documents) {
          seen.push_back(document.sequence);
        }
      }
      for (const Document* document : packed.packing.left_over) {
        seen.push_back(document->sequence);
      }
      std::sort(seen.begin(), seen.end());
      ASSERT_EQ(seen.size(), documents.size());
      for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);
    }
  }
}

}  // namespace
}  // namespace evenpack
