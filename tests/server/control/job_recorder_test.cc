// What a job's figures count, through jobs that run.
#include "server/control/job_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/core/cost/named_models.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::DoUpdate;
using ::testing::ElementsAre;
using testing::Follower;
using testing::IsOk;
using testing::MakeSpec;
using testing::OutlierJob;
using testing::RandomLengths;
using testing::ResolveCosts;
using testing::SmallJob;
using testing::StepsOfDocuments;

uint64_t Sum(const std::vector<uint32_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
}

double MeanOf(const Histogram& histogram) {
  return histogram.sum() / static_cast<double>(histogram.count());
}

class JobRecorderTest : public ::testing::Test {
 protected:
  // A job that has ingested these documents.
  std::shared_ptr<Job> MakeJob(const JobSpec& spec,
                               const std::vector<uint32_t>& lengths,
                               const std::string& name = "job") {
    auto job = room_.MakeJob(spec, name);
    if (lengths.empty()) return job;
    EXPECT_THAT(DoIngest(*job, 0, lengths), IsOk());
    return job;
  }
  static void End(Job& job) {
    EXPECT_THAT(Do(job, EndOfStream{"a", Describe(job)->streams[0].next_sequence}),
                IsOk());
  }

  ControlRoom room_;
};

// Documents of 60 and of 40 tokens in turn make full micro-batches.
TEST_F(JobRecorderTest, OriginalIsGivenTheDocumentsOfAllStreamsInMergedOrder) {
  for (const MergeMode merge : {MergeMode::kInterleave, MergeMode::kArrival}) {
    JobSpec spec = SmallJob();
    spec.streams = {{.name = "a"}, {.name = "b"}};
    spec.merge = merge;
    const auto job = room_.MakeJob(spec, absl::StrCat("job", static_cast<int>(merge)));
    for (uint64_t i = 0; i < 40; ++i) {
      ASSERT_THAT(DoIngest(*job, i, {60}), IsOk());
      ASSERT_THAT(DoIngest(*job, i, {40}, "b"), IsOk());
    }
    const JobFigures figures = job->Figures();
    EXPECT_EQ(figures.policy.steps, 10U);
    EXPECT_EQ(figures.original.steps, 10U);
    EXPECT_DOUBLE_EQ(MeanOf(figures.original.imbalance), 1);
  }
}

TEST_F(JobRecorderTest, ANewJobHasCountedNothing) {
  const JobFigures figures = MakeJob(SmallJob(), {})->Figures();
  EXPECT_EQ(figures.job, "job");
  ASSERT_EQ(figures.streams.size(), 1U);
  EXPECT_EQ(figures.streams[0].name, "a");
  EXPECT_EQ(figures.streams[0].documents_accepted, 0U);
  EXPECT_EQ(figures.documents_emitted, 0U);
  EXPECT_EQ(figures.policy.steps, 0U);
}

TEST_F(JobRecorderTest, CountsWhatEachStreamGave) {
  JobSpec spec = SmallJob();
  spec.streams = {{.name = "a"}, {.name = "b"}};
  const auto job = MakeJob(spec, {10, 20});
  ASSERT_THAT(DoIngest(*job, 0, {30}, "b"), IsOk());
  ASSERT_THAT(DoIngest(*job, 1, {20, 40}), IsOk()) << "of which one is sent again";
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.streams[0].documents_accepted, 3U);
  EXPECT_EQ(figures.streams[0].tokens_accepted, 70U);
  EXPECT_EQ(figures.streams[1].documents_accepted, 1U);
  EXPECT_EQ(figures.streams[1].tokens_accepted, 30U);
}

TEST_F(JobRecorderTest, WhatWasAcceptedIsEmittedQueuedLeftOverOrBuffered) {
  const std::vector<uint32_t> lengths = RandomLengths(1, 500);
  const JobFigures figures = MakeJob(OutlierJob(), lengths)->Figures();
  ASSERT_EQ(figures.queues.size(), 2U);
  uint64_t documents = figures.left_over_documents;
  uint64_t tokens = figures.left_over_tokens;
  for (const QueueFigures& queue : figures.queues) {
    documents += queue.documents;
    tokens += queue.tokens;
  }
  EXPECT_GT(documents, 0U);
  EXPECT_EQ(
      figures.documents_emitted + documents + figures.streams[0].buffered_documents,
      500U);
  EXPECT_EQ(figures.tokens_emitted + tokens + figures.streams[0].buffered_tokens,
            Sum(lengths));
  EXPECT_EQ(figures.streams[0].buffered_bytes,
            figures.streams[0].buffered_documents * kBufferedDocumentBytes);
}

// As `balanced` lets one that is alone of its length wait, in no queue.
TEST_F(JobRecorderTest, ADocumentThatIsLeftOverSaysHowLongItHasWaited) {
  constexpr uint32_t kWindow = 131072;
  const JobSpec spec = MakeSpec(PolicyKind::kBalanced, 4, kWindow);
  std::vector<uint32_t> lengths(10'000, 1000);
  lengths.front() = kWindow;
  const JobFigures figures = MakeJob(spec, lengths)->Figures();
  ASSERT_GE(figures.left_over_documents, 1U);
  EXPECT_GE(figures.left_over_tokens, kWindow);
  EXPECT_GT(figures.left_over_oldest_batches, figures.next_step / 2);
  EXPECT_LE(figures.left_over_oldest_batches, figures.next_step);
}

TEST_F(JobRecorderTest, OfADrainedJobEverythingAddsUp) {
  const std::vector<uint32_t> lengths = RandomLengths(2, 500);
  const auto job = MakeJob(OutlierJob(), lengths);
  End(*job);
  const JobFigures figures = job->Figures();
  const uint64_t steps = figures.steps[0] + figures.steps[1] + figures.steps[2];
  EXPECT_EQ(steps, figures.next_step);
  EXPECT_GT(figures.steps[0], 50U);
  EXPECT_GT(figures.steps[2], 0U);
  EXPECT_EQ(figures.documents_emitted, 500U);
  EXPECT_EQ(figures.tokens_emitted, Sum(lengths));
  EXPECT_EQ(figures.document_delay.count(), 500U);
  EXPECT_EQ(figures.step_fill.count(), figures.steps[0]);
  EXPECT_EQ(figures.long_document_share.count(), figures.steps[0]);
  EXPECT_EQ(figures.decide_seconds.count(), steps);
  EXPECT_EQ(figures.policy.steps, figures.steps[0]);
  EXPECT_EQ(figures.policy.imbalance.count(), figures.steps[0]);
  EXPECT_GE(figures.policy.max_workload_seconds, figures.policy.mean_workload_seconds);
  uint64_t longer = 0;
  for (const uint32_t length : lengths) longer += length >= 25 ? length : 0;
  EXPECT_EQ(figures.long_document_tokens_emitted, longer);
}

TEST_F(JobRecorderTest, FillAndItsSquaresTellTheSpreadOfTokensOfFullSteps) {
  const std::vector<uint32_t> lengths = RandomLengths(7, 500);
  const auto job = MakeJob(OutlierJob(), lengths);
  End(*job);
  double tokens = 0;
  double squares = 0;
  double steps = 0;
  for (uint64_t index = 0; index < Describe(*job)->next_step; ++index) {
    const auto step = job->FindStep(index).value();
    if (step->step.kind != StepKind::kFullBatch) continue;
    const auto of_step = static_cast<double>(step->totals.tokens);
    tokens += of_step;
    squares += of_step * of_step;
    ++steps;
  }
  const JobFigures figures = job->Figures();
  ASSERT_LT(steps, figures.next_step) << "there are others";
  EXPECT_EQ(figures.step_fill.count(), steps);
  const double mean = figures.step_fill.sum() / steps;
  const double mean_square = figures.step_fill_squares / steps;
  EXPECT_NEAR(mean_square / (mean * mean), squares * steps / (tokens * tokens), 1e-9);
  EXPECT_GT(mean_square, mean * mean);
}

TEST_F(JobRecorderTest, PredictsStepsThatComeOneByOneAllAndOfTooManyAtOnceSome) {
  room_.SetForecast([](const JobSpec&) {
    return ForecastTerms{NamedModel("7B").value(), 989e12, {}};
  });
  const auto job = MakeJob(SmallJob(), {});
  for (uint64_t i = 0; i < 40; ++i) {
    ASSERT_THAT(DoIngest(*job, i * 8, StepsOfDocuments(1)), IsOk());
  }
  const uint64_t one_by_one = job->Figures().prediction.steps;
  EXPECT_GE(one_by_one, 32U);
  EXPECT_LE(one_by_one, 40U);
  EXPECT_EQ(job->Figures().prediction.steps, one_by_one) << "each once";
  ASSERT_THAT(DoIngest(*job, 320, StepsOfDocuments(100)), IsOk());
  EXPECT_GE(job->Figures().prediction.steps, one_by_one + 32);
  EXPECT_LT(job->Figures().prediction.steps, 140U);
  EXPECT_GT(job->Figures().prediction.step_seconds, 0);
}

TEST_F(JobRecorderTest, DelayIsInGlobalBatchesSinceADocumentsOwn) {
  JobSpec spec = SmallJob();
  spec.policy.kind = PolicyKind::kWlb;
  spec.policy.queue_thresholds = {100};
  // The long document waits until there are four of them, which come with each batch.
  std::vector<uint32_t> lengths;
  for (int batch = 0; batch < 4; ++batch) {
    lengths.push_back(100);
    lengths.insert(lengths.end(), 6, 50);
  }
  const auto job = MakeJob(spec, lengths);
  End(*job);
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.documents_emitted, 28U);
  // The rest of the last batch comes without another.
  EXPECT_EQ(figures.document_delay.sum(), 3 + 2 + 1 + 0);
}

TEST_F(JobRecorderTest, TheOldestOfAQueueSaysHowLongItWaits) {
  JobSpec spec = SmallJob();
  spec.policy.kind = PolicyKind::kWlb;
  spec.policy.queue_thresholds = {100, 120};
  std::vector<uint32_t> lengths = {100};
  lengths.insert(lengths.end(), 6, 50);
  const std::vector<uint32_t> plain = StepsOfDocuments(2);
  lengths.insert(lengths.end(), plain.begin(), plain.end());
  const JobFigures figures = MakeJob(spec, lengths)->Figures();
  EXPECT_EQ(figures.queues[0].documents, 1U);
  EXPECT_EQ(figures.queues[0].tokens, 100U);
  EXPECT_EQ(figures.queues[0].oldest_batches, 2U);
  EXPECT_EQ(figures.queues[1].oldest_batches, 0U);
}

TEST_F(JobRecorderTest, ADocumentInPiecesCountsOnce) {
  JobSpec spec = SmallJob();
  spec.split_overlong = true;
  const auto job = MakeJob(spec, {500, 20});
  End(*job);
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.documents_emitted, 2U);
  EXPECT_EQ(figures.document_delay.count(), 2U);
  EXPECT_EQ(figures.tokens_emitted, 520U);
  EXPECT_EQ(figures.long_document_tokens_emitted, 500U);
}

TEST_F(JobRecorderTest, PaddingAndShardingsAreThoseOfMicroBatchesWithDocuments) {
  JobSpec spec = SmallJob();
  spec.layout.kind = Layout::kMegatronThd;
  spec.context_parallel = 2;
  spec.sharding = Sharding::kPerDocument;
  ResolveCosts(spec);
  // 47 tokens are padded to 48.
  const auto job = MakeJob(spec, {47, 47, 47});
  End(*job);
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.padding_emitted, 3U);
  const uint64_t used = figures.shardings[1];
  EXPECT_GE(used, 1U);
  EXPECT_LE(used, 3U);
  EXPECT_THAT(figures.shardings, ElementsAre(0, used, 0, 0));
  EXPECT_EQ(figures.context_parallel_imbalance.count(), used);
  EXPECT_GE(figures.context_parallel_imbalance.sum(), static_cast<double>(used));
}

TEST_F(JobRecorderTest, WithoutContextParallelismThereIsNoImbalanceOfIt) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(1));
  EXPECT_EQ(job->Figures().context_parallel_imbalance.count(), 0U);
  EXPECT_THAT(job->Figures().shardings, ElementsAre(0, 4, 0, 0));
}

TEST_F(JobRecorderTest, TheShadowOfTheOriginalPolicyIsThatPolicy) {
  std::vector<uint32_t> overlong = RandomLengths(3, 500);
  for (size_t i = 0; i < overlong.size(); i += 9) overlong[i] += 3 * SmallJob().window;
  JobSpec cutting = SmallJob();
  cutting.split_overlong = true;
  const std::pair<JobSpec, std::vector<uint32_t>> kJobs[] = {
      {SmallJob(), RandomLengths(3, 500)}, {cutting, overlong}};
  for (const auto& [spec, lengths] : kJobs) {
    SCOPED_TRACE(spec.split_overlong);
    const auto job = MakeJob(spec, lengths, spec.split_overlong ? "cutting" : "whole");
    const JobFigures figures = job->Figures();
    EXPECT_GT(figures.original.steps, 50U);
    EXPECT_EQ(figures.original.steps, figures.policy.steps);
    EXPECT_DOUBLE_EQ(figures.original.max_workload_seconds,
                     figures.policy.max_workload_seconds);
    EXPECT_DOUBLE_EQ(figures.original.mean_workload_seconds,
                     figures.policy.mean_workload_seconds);
    EXPECT_DOUBLE_EQ(figures.original.imbalance.sum(), figures.policy.imbalance.sum());
  }
}

TEST_F(JobRecorderTest, TheShadowOfAnotherPolicyShowsWhatIsGained) {
  const std::vector<uint32_t> lengths = RandomLengths(4, 500);
  const JobFigures original = MakeJob(SmallJob(), lengths, "original")->Figures();
  const JobFigures figures = MakeJob(OutlierJob(), lengths)->Figures();
  // The documents that were not admitted yet are less than a batch, in both.
  EXPECT_NEAR(static_cast<double>(figures.original.steps),
              static_cast<double>(original.policy.steps), 1);
  EXPECT_NEAR(MeanOf(figures.original.imbalance), MeanOf(original.policy.imbalance),
              0.01);
  EXPECT_LT(MeanOf(figures.policy.imbalance), MeanOf(figures.original.imbalance));
}

TEST_F(JobRecorderTest, AnUpdateLetsTheShadowBeginAnew) {
  const auto job = MakeJob(OutlierJob(), RandomLengths(5, 100));
  const JobFigures before = job->Figures();
  JobSpec wide = OutlierJob();
  wide.micro_batches = 8;
  ResolveCosts(wide);
  ASSERT_THAT(DoUpdate(*job, wide), IsOk());
  ASSERT_THAT(DoIngest(*job, 100, RandomLengths(6, 200)), IsOk());
  const JobFigures after = job->Figures();
  EXPECT_GT(after.original.steps, before.original.steps);
  EXPECT_EQ(after.epoch, 1U);
}

TEST_F(JobRecorderTest, WhatFailsToBeStoredIsNotCounted) {
  const auto job = MakeJob(SmallJob(), {});
  room_.store().FailCommits(2);
  EXPECT_FALSE(DoIngest(*job, 0, StepsOfDocuments(2)).ok());
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.streams[0].documents_accepted, 0U);
  EXPECT_EQ(figures.documents_emitted, 0U);
  EXPECT_EQ(figures.next_step, 0U);
}

TEST_F(JobRecorderTest, TimesAreFromDecidedToCommittedAndToDelivered) {
  const auto job = MakeJob(SmallJob(), {});
  const JobFigures before = job->Figures();
  room_.store().Block();
  const Awaited<absl::Status> done;
  Ingest command;
  command.stream = "a";
  command.lengths = StepsOfDocuments(1);
  job->Submit(command, done);
  room_.store().WaitUntilBlocked();
  room_.clock().Advance(seconds(2));
  room_.store().Release();
  ASSERT_THAT(done.Get(), IsOk());
  room_.clock().Advance(milliseconds(500));
  job->CountDelivery(job->FindStep(0).value()->decided);
  const JobFigures after = job->Figures();
  EXPECT_EQ(after.commit_seconds.count() - before.commit_seconds.count(), 1U);
  EXPECT_DOUBLE_EQ(after.commit_seconds.sum() - before.commit_seconds.sum(), 2);
  EXPECT_EQ(after.decide_seconds.count(), 1U);
  EXPECT_EQ(after.delivery_seconds.count(), 1U);
  EXPECT_DOUBLE_EQ(after.delivery_seconds.sum(), 2.5);
}

TEST_F(JobRecorderTest, ADeliveryIsTimedFromWhenItsSubscriberCouldTakeIt) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(3));
  room_.clock().Advance(seconds(4));
  SubscribeRequest request;
  request.credits = 1;
  Follower follower(job, request);
  const auto deliver_next = [&] {
    job->CountDelivery(std::get<SendStep>(follower.Next()).ready);
  };
  deliver_next();
  EXPECT_DOUBLE_EQ(job->Figures().delivery_seconds.sum(), 0);
  // The trainer computes before it takes the step.
  room_.clock().Advance(seconds(3));
  ASSERT_THAT(follower.Received(0), IsOk());
  room_.clock().Advance(milliseconds(500));
  deliver_next();
  EXPECT_EQ(job->Figures().delivery_seconds.count(), 2U);
  EXPECT_DOUBLE_EQ(job->Figures().delivery_seconds.sum(), 0.5);
}

TEST_F(JobRecorderTest, ReportsAreSummedAndComparedWhereMeasured) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(1));
  const int64_t predicted = job->FindStep(0).value()->step.micro_batches[0].workload_ns;
  LatencyReport report;
  report.step_wait_seconds = 0.25;
  report.steps_taken = 3;
  report.micro_batches = {{.step = 0, .micro_batch = 0, .forward_ns = 2 * predicted},
                          {.step = 0, .micro_batch = 1, .backward_ns = 7}};
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  ASSERT_THAT(job->ReportLatency(report), IsOk());
  const JobFigures figures = job->Figures();
  EXPECT_DOUBLE_EQ(figures.step_wait_seconds, 0.5);
  EXPECT_EQ(figures.steps_taken, 6U);
  // A report that comes again tells nothing new of its micro-batches.
  EXPECT_EQ(figures.measured_over_predicted.count(), 1U);
  EXPECT_DOUBLE_EQ(figures.measured_over_predicted.sum(), 2);
}

TEST_F(JobRecorderTest, FiguresOfNowFollowTheJob) {
  JobSpec spec = SmallJob();
  spec.max_steps_ahead = 4;
  const auto job = MakeJob(spec, StepsOfDocuments(9));
  for (const uint32_t rank : {0U, 1U}) {
    ASSERT_THAT(Do(*job, Acknowledge{rank, 0, 0}), IsOk());
  }
  SubscribeRequest request;
  request.credits = 3;
  request.from_step = 1;
  Follower follower(job, request);
  EXPECT_EQ(follower.TakeStep()->step.index, 1U);
  EXPECT_TRUE(std::holds_alternative<SendStep>(follower.Next()));
  job->RemoveProducer(job->AddProducer([](const absl::Status&) {}));
  job->AddProducer([](const absl::Status&) {});
  const JobFigures figures = job->Figures();
  EXPECT_EQ(figures.next_step, 5U);
  EXPECT_EQ(figures.durable_steps, 1U);
  EXPECT_EQ(figures.kept_steps, 4U);
  EXPECT_EQ(figures.subscribers, 1U);
  EXPECT_EQ(figures.max_lag_steps, 3U);
  EXPECT_EQ(figures.total_lag_steps, 3U);
  EXPECT_EQ(figures.unused_credits, 2U);
  EXPECT_EQ(figures.ready_steps, 2U);
  EXPECT_EQ(figures.producers, 1U);
  EXPECT_EQ(figures.streams[0].buffered_documents, 32U);
  EXPECT_TRUE(figures.streams[0].full);
  EXPECT_FALSE(figures.streams[0].ended);
}

}  // namespace
}  // namespace evenpack
