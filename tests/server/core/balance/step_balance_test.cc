#include "server/core/balance/step_balance.h"

#include <gtest/gtest.h>

#include "server/core/packing/assignment.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

Step MakeStep(const std::vector<std::vector<uint32_t>>& lengths,
              const WorkloadTable& workload) {
  Step step;
  for (const std::vector<uint32_t>& documents : lengths) {
    MicroBatch& micro_batch = step.micro_batches.emplace_back();
    micro_batch.documents = testing::MakeDocuments(documents);
    for (const uint32_t length : documents) micro_batch.tokens += length;
    micro_batch.workload_ns = Workload(micro_batch, workload);
  }
  return step;
}

TEST(StepBalanceTest, ImbalanceIsMaxOverMean) {
  const WorkloadTable workload = testing::QuadraticWorkload(100, 1000);
  // 200 tokens-worth in one, 20 + 4 in the other: (100^2/100 + 100), 2 x (10^2/100+10).
  const StepBalance balance =
      MeasureBalance(MakeStep({{100}, {10, 10}}, workload), workload, 128);
  EXPECT_EQ(balance.max_workload_ns, 200'000);
  EXPECT_EQ(balance.total_workload_ns, 222'000);
  EXPECT_DOUBLE_EQ(balance.ImbalanceDegree(), 200.0 / 111.0);
  EXPECT_DOUBLE_EQ(balance.LowerBound(), 200.0 / 111.0);
  EXPECT_EQ(balance.tokens, 120U);
  EXPECT_EQ(balance.longest_micro_batch, 100U);
}

TEST(StepBalanceTest, TheBoundIsOneWhereNoDocumentOutweighsTheMean) {
  const WorkloadTable workload = testing::QuadraticWorkload(100, 1000);
  const StepBalance balance =
      MeasureBalance(MakeStep({{10, 10, 10}, {10}}, workload), workload, 128);
  EXPECT_DOUBLE_EQ(balance.ImbalanceDegree(), 1.5);
  EXPECT_DOUBLE_EQ(balance.LowerBound(), 1);
}

TEST(StepBalanceTest, LongDocumentsAreOfAQuarterWindowOrMore) {
  const WorkloadTable workload = testing::QuadraticWorkload(100, 1000);
  Step step = MakeStep({{31, 32}, {33}}, workload);
  EXPECT_EQ(MeasureBalance(step, workload, 128).long_document_tokens, 65U);
  // A short piece of a long document counts as long.
  step.micro_batches[0].documents[0].document_length = 500;
  EXPECT_DOUBLE_EQ(MeasureBalance(step, workload, 128).LongDocumentShare(), 1);
}

TEST(StepBalanceTest, AnEmptyStepIsEven) {
  const StepBalance balance = MeasureBalance(MakeStep({{}, {}}, {}), {}, 128);
  EXPECT_DOUBLE_EQ(balance.ImbalanceDegree(), 1);
  EXPECT_DOUBLE_EQ(balance.LowerBound(), 1);
  EXPECT_DOUBLE_EQ(balance.LongDocumentShare(), 0);
}

TEST(IsLongDocumentTest, IsAQuarterWindowAndMore) {
  const struct {
    uint32_t window, least;
  } cases[] = {{1, 1}, {4, 1},          {5, 2},
               {8, 2}, {131072, 32768}, {2147483647, 536870912}};
  for (const auto& [window, least] : cases) {
    EXPECT_EQ(LongFrom(window), least);
    EXPECT_TRUE(IsLongDocument(least, window)) << window;
    EXPECT_FALSE(IsLongDocument(least - 1, window)) << window;
  }
}

}  // namespace
}  // namespace evenpack
