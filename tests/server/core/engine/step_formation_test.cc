#include "server/core/engine/step_formation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "server/core/cost/named_models.h"
#include "server/core/engine/plan_micro_batch.h"
#include "server/core/outlier/novelty.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/hybrid.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
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
JobSpec SmallQueueSpec() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.policy.queue_thresholds = {80};
  return spec;
}

TEST(StepFormationTest, TooFewDocumentsIsAPrecondition) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 2, 100));
  ASSERT_THAT(job.Ingest({50, 60}), IsOk());
  EXPECT_THAT(job.Do(FormStep{}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "step 0 admits 200 tokens and 110 are buffered, of which the "
                       "merge may wait for a stream; ingest more documents or end the "
                       "streams"));
}

// Whoever acknowledges all that there is can go on, however much is retained.
TEST(StepFormationTest, RetainedCheckpointsDoNotStopAJob) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 10);
  spec.max_steps_ahead = 4;
  spec.retain_checkpoints = 3;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(20, 10)), IsOk());
  for (uint64_t step = 3; step < 20; step += 4) {
    ASSERT_THAT(job.FormAll(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr("max_steps_ahead")));
    ASSERT_THAT(job.Do(Acknowledge{0, step}), IsOk());
  }
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
  spec.max_steps_ahead = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({10, 10, 10, 10}), IsOk());
  EXPECT_THAT(job.FormAll(), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("max_steps_ahead: 2 decided steps")));
  ASSERT_THAT(job.Do(Acknowledge{0, 0}), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
}

TEST(StepFormationTest, WlbOutliersWaitUntilTheirQueueHoldsN) {
  TestJob job(SmallQueueSpec());
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
  JobSpec spec = SmallQueueSpec();
  spec.backlog_limit = 0.4;  // 80 tokens
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({90, 60, 50, 70, 70, 70}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{60}, {50}}));
  KnownOfWaiting known = {.make_no_step = true, .awaited = {}};
  const auto knowing = NextStep(job.state(), &known);
  ASSERT_THAT(knowing, IsOk());
  ASSERT_TRUE(knowing->has_value());
  EXPECT_EQ((*knowing)->step.kind, StepKind::kFullBatch);
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kBacklog);
  EXPECT_EQ(LastBins(job), (Bins{{90}, {}}));
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kFullBatch);
}

TEST(StepFormationTest, NoStepIsWithoutATokenThoughAllAreOutliers) {
  JobSpec spec = SmallQueueSpec();
  spec.micro_batches = 3;
  spec.policy.queue_thresholds = {80, 140};
  TestJob job(spec);
  // 145 and 146 go to one queue and 90 to the other: neither holds three.
  ASSERT_THAT(job.Ingest({145, 146, 90}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kFullBatch);
  EXPECT_EQ(LastBins(job), (Bins{{146}, {145}, {90}}));
}

TEST(StepFormationTest, DueDocumentsGoFirstOldestFirst) {
  JobSpec spec = SmallQueueSpec();
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
  JobSpec spec = SmallQueueSpec();
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

TEST(StepFormationTest, ABalancedDrainLeavesNoOutlierToAStepOfItsOwn) {
  std::vector<uint32_t> lengths(140, 2000);
  lengths.push_back(120'000);
  TestJob job(MakeSpec(PolicyKind::kBalanced, 4, 131'072));
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastKind(job), StepKind::kDrain);
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

TEST(StepFormationTest, AWindowOfFewLongDocumentsHasNoEmptyStep) {
  JobSpec spec = MakeSpec(PolicyKind::kFixedGreedy, 1, 100);
  spec.policy.window_batches = 3;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({150, 150}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), Bins{{150}});
  EXPECT_TRUE(job.state().waiting.planned.empty());
}

TEST(StepFormationTest, BalancedStepsRememberHowLongDocumentsWait) {
  const JobSpec spec = MakeSpec(PolicyKind::kBalanced, 4, testing::kLongWindow);
  TestJob calm(spec);
  calm.Run(std::vector<uint32_t>(6400, 4096), 1);
  EXPECT_LT(calm.state().position.mean_delay, kMeanDelayAtFirst / 4);
  // Every third document is too long to go beside short ones.
  std::vector<uint32_t> mixed;
  for (int i = 0; i < 1500; ++i) mixed.insert(mixed.end(), {70'000, 4'096, 4'096});
  TestJob waiting(spec);
  waiting.Run(mixed, 1);
  EXPECT_GT(waiting.state().position.mean_delay, kMeanDelayAtFirst / 4);
  TestJob other(MakeSpec(PolicyKind::kWlb, 4, testing::kLongWindow));
  other.Run(mixed, 1);
  EXPECT_EQ(other.state().position.mean_delay, kMeanDelayAtFirst);
}

TEST(StepFormationTest, BalancedStepsRememberHowNewLengthsAre) {
  const JobSpec spec = MakeSpec(PolicyKind::kBalanced, 4, 131'072);
  std::vector<uint32_t> lengths = testing::SkewedLengths(5, 8'000, 131'072);
  TestJob mixed(spec);
  mixed.Run(lengths, 1);
  EXPECT_LT(mixed.state().position.novelty, kNoveltyUnit / 2);
  std::sort(lengths.begin(), lengths.end());
  TestJob rising(spec);
  rising.Run(lengths, 1);
  EXPECT_GT(rising.state().position.novelty, kNoveltyUnit / 2);
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

TEST(StepFormationTest, MicroBatchesArePaddedAndBoundedByTheLayout) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 100);
  spec.context_parallel = 2;
  spec.layout.kind = Layout::kMegatronThd;
  spec.layout.max_documents = 2;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest({101, 50, 30, 18, 1}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_EQ(LastBins(job), (Bins{{101, 18}, {50, 30}}));
  const std::vector<MicroBatch>& packed = job.emitted().back().step.micro_batches;
  EXPECT_EQ(packed[0].padding, 3U + 2);
  EXPECT_EQ(packed[1].padding, 2U + 2);
  // Padding costs what tokens do but for attention.
  EXPECT_EQ(packed[1].workload_ns, spec.workload.AttentionNs(50) +
                                       spec.workload.AttentionNs(30) +
                                       spec.workload.LinearNs(84));
  EXPECT_EQ(LengthsOf(job.state().waiting.left_over), std::vector<uint32_t>{1});
}

// Each step admits as many tokens as ever but emits two documents: the backlog limit
// bounds what waits.
TEST(StepFormationTest, FewDocumentsAMicroBatchMakeABacklog) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 1, 100);
  spec.layout.max_documents = 2;
  spec.backlog_limit = 1;
  TestJob job(spec);
  ASSERT_THAT(job.Ingest(std::vector<uint32_t>(60, 10)), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.FormAll(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("drained")));
  EXPECT_EQ(job.emitted().size(), 30U);
  EXPECT_LE(job.most_waiting_tokens(), 200U);
  ExpectExactlyOnce(job, {std::vector<uint32_t>(60, 10)});
}

TEST(StepFormationTest, AdaptiveShardingIsChosenPerMicroBatch) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 40000);
  spec.max_length = 40000;
  spec.context_parallel = 8;
  spec.sharding = Sharding::kAdaptive;
  spec.kernel_latency = KernelLatencyTable::FromTileModel(
                            NamedModel("7B").value(), NamedHardware("H100").value(), 1)
                            .value();
  TestJob job(spec);
  // Cutting documents of 100 tokens in 16 wastes tiles. Cutting a sequence of two long
  // documents gives some ranks the end of one and the start of the other.
  std::vector<uint32_t> lengths(400, 100);
  lengths.insert(lengths.end(), {30000, 10000});
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  std::set<Sharding> chosen;
  for (const MicroBatch& micro_batch : job.emitted().back().step.micro_batches) {
    const std::vector<uint32_t> packed = LengthsOf(micro_batch.documents);
    EXPECT_EQ(micro_batch.sharding,
              ChooseSharding(packed, 8, 0, spec.kernel_latency)->plan.sharding);
    chosen.insert(micro_batch.sharding);
  }
  EXPECT_EQ(chosen.size(), 2U);
}

TEST(StepFormationTest, HybridShardingMixesOrChoosesPerMicroBatch) {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 2, 40000);
  spec.max_length = 40000;
  spec.context_parallel = 8;
  spec.sharding = Sharding::kHybrid;
  spec.hybrid.cut_token_ps = 1'000;
  spec.kernel_latency = KernelLatencyTable::FromTileModel(
                            NamedModel("7B").value(), NamedHardware("H100").value(), 1)
                            .value();
  TestJob job(spec);
  // A document of its own can but be cut.
  std::vector<uint32_t> lengths(400, 100);
  lengths.push_back(40000);
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  ASSERT_THAT(job.End(), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  std::set<Sharding> chosen;
  for (const MicroBatch& micro_batch : job.emitted().back().step.micro_batches) {
    const std::vector<uint32_t> packed = LengthsOf(micro_batch.documents);
    const auto choice = ChooseHybrid(packed, 8, 0, spec.kernel_latency, spec.hybrid);
    ASSERT_THAT(choice, IsOk());
    EXPECT_EQ(micro_batch.sharding, choice->plan.sharding);
    const auto plan = PlanMicroBatch(spec, micro_batch);
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(*plan, choice->plan);
    chosen.insert(micro_batch.sharding);
  }
  EXPECT_THAT(chosen, Contains(Sharding::kHybrid));
  EXPECT_THAT(chosen, SizeIs(2));
}

}  // namespace
}  // namespace evenpack
