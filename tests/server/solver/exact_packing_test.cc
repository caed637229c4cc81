#include "server/solver/exact_packing.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "server/core/packing/fixed_greedy.h"
#include "server/core/packing/wlb.h"
#include "server/core/packing/work_list.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::LongestFirst;
using testing::MakeDocuments;

constexpr SolverOptions kToTheEnd = {.time_limit = 300, .gap = kLeastGap};
constexpr SolverOptions kQuick = {.time_limit = 0.3, .gap = 1e-4};

std::vector<uint64_t> Sequences(const std::vector<MicroBatch>& micro_batches) {
  std::vector<uint64_t> sequences;
  for (const MicroBatch& micro_batch : micro_batches) {
    for (const Document& document : micro_batch.documents) {
      sequences.push_back(document.sequence);
    }
  }
  std::sort(sequences.begin(), sequences.end());
  return sequences;
}

int64_t MostSquares(const std::vector<MicroBatch>& micro_batches) {
  uint64_t most = 0;
  for (const MicroBatch& micro_batch : micro_batches) {
    most = std::max(most, SumOfSquaredLengths(micro_batch));
  }
  return static_cast<int64_t>(most);
}

int64_t MostWorkload(const std::vector<MicroBatch>& micro_batches) {
  int64_t most = 0;
  for (const MicroBatch& micro_batch : micro_batches) {
    most = std::max(most, micro_batch.workload_ns);
  }
  return most;
}

// Sums are right, and no micro-batch is longer than `limit`.
void ExpectComplete(const std::vector<MicroBatch>& micro_batches, uint64_t limit,
                    const WorkloadTable& workload) {
  for (const MicroBatch& micro_batch : micro_batches) {
    uint64_t tokens = 0;
    int64_t attention = 0;
    for (const Document& document : micro_batch.documents) {
      tokens += document.length;
      attention += workload.AttentionNs(document.length);
    }
    EXPECT_EQ(micro_batch.tokens, tokens);
    EXPECT_EQ(micro_batch.workload_ns, attention + workload.LinearNs(tokens));
    EXPECT_LE(tokens, limit);
    EXPECT_TRUE(std::is_sorted(
        micro_batch.documents.begin(), micro_batch.documents.end(),
        [](const Document& a, const Document& b) { return a.length > b.length; }));
  }
}

// A global batch, longest first.
std::vector<Document> GivenDocuments(size_t first) {
  const std::vector<uint32_t>& given = testing::GivenLengths();
  std::vector<uint32_t> lengths;
  for (uint64_t tokens = 0; tokens < uint64_t{4} * 131072; tokens += lengths.back()) {
    lengths.push_back(given[first + lengths.size()]);
  }
  return LongestFirst(MakeDocuments(lengths));
}

TEST(SolveFixedTest, HasTheSameDocumentsAndIsNoWorseThanTheGreedy) {
  const WorkloadTable workload = testing::QuadraticWorkload(47000, 196608);
  int better = 0;
  for (size_t first = 0; first < 5000; first += 500) {
    const std::vector<Document> documents = GivenDocuments(first);
    const std::vector<MicroBatch> greedy =
        PackFixedGreedy(PointTo(documents), 4, {.tokens = 131072}, workload)
            .micro_batches;
    const SolvedPacking solved = SolveFixed(greedy, 131072, workload, kQuick);
    ASSERT_EQ(solved.micro_batches.size(), 4U);
    EXPECT_EQ(Sequences(solved.micro_batches), Sequences(greedy));
    ExpectComplete(solved.micro_batches, 131072, workload);
    EXPECT_EQ(solved.load, MostSquares(solved.micro_batches));
    EXPECT_LE(solved.load, MostSquares(greedy));
    EXPECT_LE(solved.bound, solved.load);
    EXPECT_LE(solved.mean_load, static_cast<double>(solved.load));
    if (solved.load < MostSquares(greedy)) ++better;
  }
  EXPECT_GT(better, 0);
}

TEST(SolveFixedTest, TheLeastSumOfSquares) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> documents = MakeDocuments({7, 5, 5, 4, 2, 1});
  std::vector<MicroBatch> packed(2);
  packed[0] = {.documents = {documents[0], documents[1]}, .tokens = 12};
  packed[1] = {.documents = {documents.begin() + 2, documents.end()}, .tokens = 12};
  const SolvedPacking solved = SolveFixed(packed, 12, workload, kToTheEnd);
  // Beside the 7 either a 5, or the 4 and the 1: 74 or 66.
  EXPECT_EQ(solved.load, 66);
  EXPECT_EQ(solved.bound, 66);
  EXPECT_EQ(solved.gap, 0);
  EXPECT_DOUBLE_EQ(solved.mean_load, 60);
}

TEST(SolveFixedTest, AnOverlongDocumentStaysAlone) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const std::vector<Document> documents = MakeDocuments({15, 5, 5, 4, 4, 1});
  const std::vector<MicroBatch> greedy =
      PackFixedGreedy(PointTo(documents), 3, {.tokens = 10}, workload).micro_batches;
  const SolvedPacking solved = SolveFixed(greedy, 10, workload, kToTheEnd);
  ASSERT_EQ(solved.micro_batches.size(), 3U);
  EXPECT_EQ(solved.micro_batches.back().documents, std::vector{documents[0]});
  EXPECT_EQ(solved.load, 225);
  EXPECT_EQ(solved.bound, 225);
  EXPECT_EQ(solved.gap, 0);
  EXPECT_DOUBLE_EQ(solved.mean_load, (225 + 25 + 25 + 16 + 16 + 1) / 3.0);
  const SolvedPacking nothing_else = SolveFixed({greedy[0]}, 10, workload, kToTheEnd);
  EXPECT_EQ(nothing_else.micro_batches.size(), 1U);
  EXPECT_EQ(nothing_else.load, 225);
}

TEST(SolveVarlenTest, IsNoHeavierThanWlbWithoutQueues) {
  const WorkloadTable workload = testing::QuadraticWorkload(47000, 196608);
  int better = 0;
  for (size_t first = 0; first < 5000; first += 500) {
    const std::vector<Document> documents = GivenDocuments(first);
    const std::vector<MicroBatch> wlb =
        PackWlb(PointTo(documents), 4, {.tokens = 196608}, workload).micro_batches;
    const SolvedPacking solved = SolveVarlen(wlb, 196608, workload, kQuick);
    ASSERT_EQ(solved.micro_batches.size(), 4U);
    EXPECT_EQ(Sequences(solved.micro_batches), Sequences(wlb));
    ExpectComplete(solved.micro_batches, 196608, workload);
    EXPECT_EQ(solved.load, MostWorkload(solved.micro_batches));
    EXPECT_LE(solved.load, MostWorkload(wlb));
    EXPECT_LE(solved.bound, solved.load);
    if (solved.load < MostWorkload(wlb)) ++better;
  }
  EXPECT_GT(better, 0);
}

TEST(SolveVarlenTest, CountsTokensAsWellAsAttention) {
  // Attention is next to nothing, so tokens decide.
  const WorkloadTable workload = testing::QuadraticWorkload(1'000'000'000, 100);
  const std::vector<Document> documents = MakeDocuments({8, 7, 6, 5, 4});
  std::vector<MicroBatch> packed(2);
  packed[0] = {.documents = documents, .tokens = 30};
  const SolvedPacking solved = SolveVarlen(packed, 100, workload, kToTheEnd);
  EXPECT_EQ(solved.load, 15'000);
  EXPECT_EQ(solved.micro_batches[0].tokens, 15U);
}

TEST(SolveVarlenTest, EmptyMicroBatchesHaveNoLoad) {
  const WorkloadTable workload = testing::QuadraticWorkload(10, 100);
  const SolvedPacking solved =
      SolveVarlen(std::vector<MicroBatch>(2), 100, workload, kToTheEnd);
  EXPECT_EQ(solved.micro_batches.size(), 2U);
  EXPECT_EQ(solved.load, 0);
  EXPECT_EQ(solved.gap, 0);
  EXPECT_FALSE(solved.time_limited);
}

}  // namespace
}  // namespace evenpack
