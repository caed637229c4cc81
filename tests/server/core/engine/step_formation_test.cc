#include "server/core/engine/step_formation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using Bins = std::vector<std::vector<uint32_t>>;
using testing::IsOk;
using testing::LengthsOf;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

Bins BinsOf(const Step& step) {
  Bins bins;
  for (const MicroBatch& micro_batch : step.micro_batches) {
    bins.push_back(LengthsOf(micro_batch.documents));
  }
  return bins;
}

Bins LastBins(const TestJob& job) { return BinsOf(job.emitted().back().step); }
StepKind LastKind(const TestJob& job) { return job.emitted().back().step.kind; }

// N = 2, L = 100, S_max = 150, outliers from 80.
JobSpec QueueSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.policy.queue_thresholds = {80};
  return spec;
}

TEST(StepFormationTest, TooFewDocumentsIsAPrecondition) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({50, 60}), IsOk());
  EXPECT_THAT(job.Do(FormStep{}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "step 0 admits 200 tokens and only 110 are buffered in merged "
                       "order; ingest more documents or end the streams"));
}

TEST(StepFormationTest, ADrainedJobIsOutOfRange) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({50, 60}), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kDrain);
  EXPECT_THAT(job.Do(FormStep{}), StatusIs(absl::StatusCode::kOutOfRange,
                                           "the job is drained: its last step is 0"));
}

TEST(StepFormationTest, AJobWithoutDocumentsDrainsToNothing) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.End(), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), StatusIs(absl::StatusCode::kOutOfRange,
                                           HasSubstr("it had no documents")));
}

TEST(StepFormationTest, StepsStopAtTheRetainedBound) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 10);
  spec.max_retained_steps = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({10, 10, 10, 10}), IsOk());
  EXPECT_THAT(job.FormAll(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("max_retained_steps: 2 decided steps")));
  ASSERT_THAT(job.Do(Acknowledge{0, 0}), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
}

TEST(StepFormationTest, WlbOutliersWaitUntilTheirQueueHoldsN) {
  TestJob job(QueueSpec());
  ASSERT_THAT(job.Ingest({90, 60, 50}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{60}, {50}}));
  EXPECT_EQ(job.state().waiting.queues[0].tokens(), 90U);
  // The second outlier completes the queue and goes in the same step.
  ASSERT_THAT(job.Ingest({95, 20, 30, 60}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{95, 30, 20}, {90, 60}}));
  EXPECT_TRUE(job.state().waiting.queues[0].empty());
}

TEST(StepFormationTest, WlbLeftOversGoBeforeNewDocuments) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 100);
  spec.max_length = 100;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({60, 50, 90, 40}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());  // admits 60, 50
  EXPECT_EQ(LastBins(job), Bins{{60}});
  ASSERT_THAT(job.Do(FormStep{}), IsOk());  // admits 90, 40: 50 before 90
  EXPECT_EQ(LastBins(job), (Bins{{50, 40}}));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{90});
}

TEST(StepFormationTest, WlbBacklogStepsAdmitNothingAndEmptyShortQueues) {
  JobSpec spec = QueueSpec();
  spec.policy.queue_thresholds = {80, 95, 98};
  spec.backlog_limit = 1;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({80, 95, 99, 10, 10}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());  // 274 tokens queue, more than 200
  EXPECT_EQ(LastBins(job), (Bins{{}, {}}));
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kBacklog);
  EXPECT_EQ(LastBins(job), (Bins{{99}, {95}}));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{80});
  EXPECT_THAT(job.Do(FormStep{}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                           HasSubstr("only 20 are buffered")));
}

TEST(StepFormationTest, DueDocumentsGoFirstOldestFirst) {
  JobSpec spec = QueueSpec();
  spec.max_delay = 1;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({90, 60, 50}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  // The next admission is the last that the 90 may see: it goes now, before the 70.
  ASSERT_THAT(job.Ingest({70, 70, 60}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{90, 60}, {70, 70}}));
  EXPECT_EQ(GreatestDelay(job), 1U);
}

TEST(StepFormationTest, WhatIsDueAndDoesNotFitGoesToABacklogStep) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 100);
  spec.max_length = 100;
  spec.max_delay = 0;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({60, 50, 90, 40}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), Bins{{60}});
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kBacklog);
  EXPECT_EQ(LastBins(job), Bins{{50}});
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kFullBatch);
  EXPECT_EQ(LastBins(job), Bins{{90}});
  EXPECT_EQ(GreatestDelay(job), 0U);
}

TEST(StepFormationTest, TheDrainEmptiesEveryQueue) {
  JobSpec spec = QueueSpec();
  spec.policy.queue_thresholds = {80, 95};
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({90, 96, 60}), IsOk());
  ASSERT_THAT(job.FormAll(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("step 1 admits")));
  ASSERT_THAT(job.Ingest({30}), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kDrain);
  EXPECT_EQ(LastBins(job), (Bins{{96}, {90, 30}}));
  EXPECT_TRUE(IsDrained(job.state()));
}

TEST(StepFormationTest, OriginalCountsLeftOversTowardsTheNextStep) {
  TestJob job(MakeSpec(PolicyKind::kOriginal, 2, 100));
  ASSERT_THAT(job.Ingest({60, 60, 90, 80, 10, 50, 50}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());  // admits 60 60 90
  EXPECT_EQ(LastBins(job), (Bins{{60}, {60}}));
  ASSERT_THAT(job.Do(FormStep{}), IsOk());  // 90 waits; admits 80 10 50
  EXPECT_EQ(LastBins(job), (Bins{{90}, {80, 10}}));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{50});
}

TEST(StepFormationTest, OriginalWithCutsFillsEveryMicroBatch) {
  JobSpec spec = MakeSpec(PolicyKind::kOriginal, 2, 100);
  spec.policy.split_documents = true;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({60, 60, 90, 80, 130}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{60, 40}, {20, 80}}));
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{10, 80, 10}, {100}}));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{20});
}

TEST(StepFormationTest, FixedGreedyEmitsItsWindowHeaviestFirst) {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 2, 100);
  spec.policy.window_batches = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({50, 90, 30, 70, 60, 80, 20}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{90}, {70, 20}}));
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{60, 30}, {80}}));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{50});
}

TEST(StepFormationTest, AStepAlwaysHasNMicroBatchesAndTheChainedDigest) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 4, 100));
  ASSERT_THAT(job.Ingest({50, 90, 150, 110}), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.FormAll(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("drained")));
  Digest128 digest = GenesisDigest();
  for (const TestJob::Emitted& emitted : job.emitted()) {
    EXPECT_EQ(emitted.step.micro_batches.size(), 4U);
    digest = StepDigest(digest, emitted.step);
    EXPECT_EQ(emitted.step.digest, digest);
  }
  EXPECT_EQ(job.state().position.digest, digest);
}

TEST(StepFormationTest, AdaptiveShardingIsChosenPerMicroBatch) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 40000);
  spec.context_parallel = 8;
  spec.sharding = Sharding::kAdaptive;
  // One tile costs 1 us whatever it holds: tiny slices are dear.
  spec.kernel_latency =
      KernelLatencyTable::FromGrid({128, 65536}, {128, 65536},
                                   {1'000'000, 512'000'000, 1'000'000, 512'000'000}, 0)
          .value();
  TestJob job(spec);
  std::vector<uint32_t> lengths(400, 100);
  lengths.push_back(40000);
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  const Step& step = job.emitted().back().step;
  ASSERT_EQ(BinsOf(step)[0].size(), 1U);
  EXPECT_EQ(step.micro_batches[1].sharding, Sharding::kPerSequence);
}

}  // namespace
}  // namespace evenpack
