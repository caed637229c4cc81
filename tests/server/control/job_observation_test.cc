// What observers are told of jobs that run.
#include "server/control/job_observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "server/control/job.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Do;
using testing::DoIngest;
using testing::DoRemove;
using ::testing::DoubleEq;
using testing::DoUpdate;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::OutlierJob;
using testing::RandomLengths;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

absl::StatusOr<JobObservation> Observe(Job& job, const ObservationRange& range = {
                                                     StepHistory::kMaxSteps, 0}) {
  const Awaited<absl::StatusOr<JobObservation>> observed;
  job.Observe(range, observed);
  return observed.Get();
}

std::vector<uint64_t> IndicesOf(const JobObservation& observed) {
  std::vector<uint64_t> indices;
  for (const auto& step : observed.recorded.steps) indices.push_back(step->index);
  return indices;
}

TEST(StepTokenSumsTest, MeanAndVariationAreThoseOfTheSteps) {
  StepTokenSums sums;
  EXPECT_EQ(sums.Mean(), 0);
  EXPECT_EQ(sums.Variation(), 0);
  sums.Add(300);
  sums.Add(500);
  EXPECT_DOUBLE_EQ(sums.Mean(), 400);
  EXPECT_DOUBLE_EQ(sums.Variation(), 0.25);
}

class JobObservationTest : public ::testing::Test {
 protected:
  std::shared_ptr<Job> MakeJob(const JobSpec& spec,
                               const std::vector<uint32_t>& lengths) {
    auto job = room_.MakeJob(spec);
    EXPECT_THAT(DoIngest(*job, 0, lengths), IsOk());
    return job;
  }

  ControlRoom room_;
};

TEST_F(JobObservationTest, AStepIsShownAsItWasDecided) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(2));
  room_.clock().Advance(std::chrono::seconds(3));
  const JobObservation observed = Observe(*job).value();
  EXPECT_EQ(observed.status.next_step, 2U);
  ASSERT_THAT(IndicesOf(observed), ElementsAre(0, 1));
  const StepObservation& step = *observed.recorded.steps[1];
  EXPECT_EQ(step.kind, StepKind::kFullBatch);
  EXPECT_THAT(step.sizes.tokens, ElementsAre(100, 100, 100, 100));
  EXPECT_EQ(step.documents, 8U);
  EXPECT_EQ(step.long_document_tokens, 400U);
  EXPECT_THAT(step.imbalance, DoubleEq(1));
  // The policy is `original`, so that it has the same.
  EXPECT_EQ(step.original_sizes, step.sizes);
  EXPECT_EQ(step.original_imbalance, step.imbalance);
  EXPECT_EQ(SecondsBetween(step.decided, observed.now), 3);
  EXPECT_EQ(observed.recorded.full_steps.steps, 2U);
  EXPECT_EQ(observed.recorded.full_steps.Mean(), 400);
}

TEST_F(JobObservationTest, AStepNamesTheDigestThatTheJobHadBefore) {
  const auto job = room_.MakeJob(SmallJob());
  const std::vector<uint32_t> lengths = StepsOfDocuments(1);
  Digest128 before = Observe(*job).value().status.digest;
  for (uint64_t index = 0; index < 3; ++index) {
    ASSERT_THAT(DoIngest(*job, index * lengths.size(), lengths), IsOk());
    const JobObservation observed = Observe(*job).value();
    ASSERT_EQ(observed.status.next_step, index + 1);
    EXPECT_EQ(observed.recorded.steps.back()->previous_digest, before);
    EXPECT_NE(observed.status.digest, before);
    before = observed.status.digest;
  }
}

TEST_F(JobObservationTest, WhatWaitsAfterEachStepIsCounted) {
  const std::vector<uint32_t> lengths = RandomLengths(3, 400);
  const auto job = MakeJob(OutlierJob(), lengths);
  const JobObservation observed = Observe(*job).value();
  ASSERT_FALSE(observed.recorded.steps.empty());
  // After the last step: what the figures of now say.
  const WaitingCounts& last = observed.recorded.steps.back()->waiting;
  ASSERT_EQ(last.queues.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(last.queues[i].documents, observed.figures.queues[i].documents);
    EXPECT_EQ(last.queues[i].tokens, observed.figures.queues[i].tokens);
  }
  EXPECT_EQ(last.left_over.documents, observed.figures.left_over_documents);
  EXPECT_EQ(last.left_over.tokens, observed.figures.left_over_tokens);
  // Every document is emitted or waits.
  uint64_t tokens =
      last.queues[0].tokens + last.queues[1].tokens + last.left_over.tokens;
  uint64_t documents = 0;
  for (const auto& step : observed.recorded.steps) {
    tokens =
        std::accumulate(step->sizes.tokens.begin(), step->sizes.tokens.end(), tokens);
    documents += step->documents;
  }
  EXPECT_EQ(tokens + observed.status.streams[0].buffered_tokens,
            std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
  EXPECT_EQ(documents, observed.figures.documents_emitted);
}

TEST_F(JobObservationTest, EveryPolicyIsShownBesideOriginal) {
  for (const PolicyKind kind : {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                                PolicyKind::kWlb, PolicyKind::kBalanced}) {
    JobSpec spec = SmallJob();
    spec.policy.kind = kind;
    auto job = room_.MakeJob(spec, absl::StrCat("job-", static_cast<int>(kind)));
    ASSERT_THAT(DoIngest(*job, 0, RandomLengths(4, 300)), IsOk());
    const JobObservation observed = Observe(*job).value();
    size_t originals = 0;
    for (const auto& step : observed.recorded.steps) {
      EXPECT_EQ(step->sizes.workload_ns.size(), 4U);
      EXPECT_GE(step->imbalance, 1);
      if (step->original_sizes.tokens.empty()) {
        EXPECT_EQ(step->original_imbalance, 0);
        continue;
      }
      ++originals;
      EXPECT_EQ(step->original_sizes.workload_ns.size(), 4U);
      EXPECT_GE(step->original_imbalance, 1);
    }
    EXPECT_GT(originals, 10U) << static_cast<int>(kind);
  }
}

TEST_F(JobObservationTest, TheRangeSaysWhichSteps) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(5));
  EXPECT_THAT(IndicesOf(*Observe(*job, {2, 0})), ElementsAre(3, 4));
  EXPECT_THAT(IndicesOf(*Observe(*job, {9, 4})), ElementsAre(4));
  EXPECT_THAT(IndicesOf(*Observe(*job, {9, 5})), IsEmpty());
}

TEST_F(JobObservationTest, StepsStayOnceTheyWereLetGo) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(3));
  for (const uint32_t rank : {0U, 1U}) {
    ASSERT_THAT(Do(*job, Acknowledge{rank, 1, 0}), IsOk());
  }
  const JobObservation observed = Observe(*job).value();
  EXPECT_EQ(observed.status.oldest_step, 2U);
  EXPECT_THAT(IndicesOf(observed), ElementsAre(0, 1, 2));
}

TEST_F(JobObservationTest, WithdrawnStepsVanish) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(4));
  JobSpec spec = SmallJob();
  spec.micro_batches = 2;
  ASSERT_THAT(DoUpdate(*job, spec, 3), IsOk());
  const JobObservation observed = Observe(*job).value();
  ASSERT_THAT(IndicesOf(observed), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(observed.recorded.steps[2]->epoch, 0U);
  EXPECT_EQ(observed.recorded.steps[3]->epoch, 1U);
  EXPECT_EQ(observed.recorded.steps[3]->sizes.tokens.size(), 2U);

  ASSERT_THAT(Do(*job, RewindJob{.from_step = 1, .spec = {}, .skip = {}}), IsOk());
  const JobObservation rewound = Observe(*job).value();
  EXPECT_EQ(rewound.recorded.steps[0]->epoch, 0U);
  EXPECT_EQ(rewound.recorded.steps[1]->epoch, 2U);
  EXPECT_EQ(IndicesOf(rewound).back() + 1, rewound.status.next_step);
}

TEST_F(JobObservationTest, SubscribersAreTheSlowestFirst) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(3));
  SubscribeRequest request;
  request.subscriber = "fast";
  Follower fast(job, request);
  request.dp_rank = 1;
  request.cp_rank = 0;
  request.subscriber = "slow";
  request.sends_durable = true;
  const Follower slow(job, request);
  fast.TakeStep();
  fast.TakeStep();
  const JobObservation observed = Observe(*job).value();
  ASSERT_EQ(observed.subscribers.size(), 2U);
  EXPECT_EQ(observed.subscribers[0].subscriber, "slow");
  EXPECT_EQ(observed.subscribers[0].lag_steps, 3U);
  EXPECT_EQ(observed.subscribers[0].cp_rank, 0U);
  EXPECT_TRUE(observed.subscribers[0].sends_durable);
  EXPECT_EQ(observed.subscribers[1].subscriber, "fast");
  EXPECT_EQ(observed.subscribers[1].lag_steps, 1U);
  EXPECT_EQ(observed.subscribers[1].received_steps, 2U);
  EXPECT_EQ(observed.subscribers[1].cp_rank, std::nullopt);
}

TEST_F(JobObservationTest, ARecoveredJobHasNoHistoryAndGoesOnWithOne) {
  MakeJob(SmallJob(), StepsOfDocuments(2));
  const auto job = room_.RecoverJob();
  EXPECT_THAT(IndicesOf(*Observe(*job)), IsEmpty());
  ASSERT_THAT(DoIngest(*job, 16, StepsOfDocuments(1)), IsOk());
  EXPECT_THAT(IndicesOf(*Observe(*job)), ElementsAre(2));
}

TEST_F(JobObservationTest, ARemovedJobIsNotFound) {
  const auto job = MakeJob(SmallJob(), StepsOfDocuments(1));
  ASSERT_THAT(DoRemove(*job), IsOk());
  EXPECT_THAT(Observe(*job).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job")));
}

}  // namespace
}  // namespace evenpack
