#include "server/core/engine/balanced_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/engine/place_micro_batches.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::MakeSpec;
using testing::TestJob;

constexpr uint32_t kStepWindow = 8192;

JobSpec PipelinedJob() {
  JobSpec spec = MakeSpec(PolicyKind::kBalanced, 8, kStepWindow);
  spec.data_parallel = 2;
  spec.pipeline_parallel = 3;
  return spec;
}

BalancedStep Form(const JobSpec& spec, const std::vector<Document>& documents,
                  StepKind kind = StepKind::kFullBatch) {
  BalancedPool pool;
  pool.kind = kind;
  pool.batches_admitted = 1;
  pool.others = PointTo(documents);
  return FormBalancedStep(spec, SketchAfter({}, documents), pool);
}

TEST(BalancedStepTest, HoldsEveryDocumentOnce) {
  const std::vector<Document> documents =
      testing::MakeDocuments(testing::SkewedLengths(2, 300, kStepWindow));
  const BalancedStep step = Form(PipelinedJob(), documents);
  std::vector<uint64_t> seen;
  for (const MicroBatch& micro_batch : step.packing.micro_batches) {
    for (const Document& document : micro_batch.documents) {
      seen.push_back(document.sequence);
    }
  }
  for (const Document* document : step.packing.left_over) {
    seen.push_back(document->sequence);
  }
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), documents.size());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
  EXPECT_EQ(step.packing.micro_batches.size(), 8U);
  EXPECT_GT(step.operations, 0U);
}

TEST(BalancedStepTest, OrdersMicroBatchesWhereItIsAskedTo) {
  const std::vector<Document> documents =
      testing::MakeDocuments(testing::SkewedLengths(2, 300, kStepWindow));
  JobSpec spec = PipelinedJob();
  const BalancedStep placed = Form(spec, documents);
  spec.policy.balanced.place = false;
  BalancedStep given = Form(spec, documents);
  PlaceMicroBatches(spec, given.packing.micro_batches);
  EXPECT_EQ(placed.packing.micro_batches, given.packing.micro_batches);
}

TEST(BalancedStepTest, HoldsBackWhatIsOneTooManyWhereMoreFollows) {
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(17, 4000));
  EXPECT_EQ(Form(PipelinedJob(), documents).packing.left_over.size(), 1U);
  EXPECT_TRUE(
      Form(PipelinedJob(), documents, StepKind::kDrain).packing.left_over.empty());
}

TEST(BalancedStepTest, KeepsNoMoreTokensInFlightThanAllowed) {
  for (const uint64_t allowed : {12288U, 16384U, 20000U, 30000U}) {
    JobSpec spec = PipelinedJob();
    spec.policy.balanced.max_in_flight_tokens = allowed;
    ASSERT_TRUE(Validate(spec).ok()) << Validate(spec);
    const std::vector<uint32_t> lengths = testing::SkewedLengths(9, 4000, kStepWindow);
    TestJob job(spec);
    job.Run(lengths, 3);
    ExpectExactlyOnce(job, {lengths});
    uint64_t most = 0;
    for (const TestJob::Emitted& emitted : job.emitted()) {
      most = std::max(most, InFlightTokens(spec, emitted.step.micro_batches));
    }
    EXPECT_LE(most, allowed);
    EXPECT_GT(most, allowed / 2);
  }
}

TEST(BalancedStepTest, KeepsTheBoundInFlightAlsoWhereDocumentsAreDue) {
  JobSpec spec = PipelinedJob();
  spec.policy.balanced.max_in_flight_tokens = 13000;
  spec.max_delay = 1;
  const std::vector<uint32_t> lengths = testing::SkewedLengths(10, 2000, kStepWindow);
  TestJob job(spec);
  job.Run(lengths, 3);
  ExpectExactlyOnce(job, {lengths});
  EXPECT_LE(GreatestDelay(job), 1U);
  for (const TestJob::Emitted& emitted : job.emitted()) {
    EXPECT_LE(InFlightTokens(spec, emitted.step.micro_batches), 13000U);
  }
}

}  // namespace
}  // namespace evenpack
