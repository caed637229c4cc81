#include "client/cpp/consumer_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/core/digest/digest_bytes.h"
#include "tests/client/cpp/consumer_fixture.h"
#include "tests/testing/refused_threads.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::ConsumerFixture;
using ::evenpack::testing::FakeStepCall;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConsumerSessionTest : public ConsumerFixture {
 protected:
  // The consumer's one report, at its end.
  void ReportAtTheEnd(v1::ReportLatencyRequest& report) {
    options_.report_interval = milliseconds(3'600'000);
    client_options_.sleeper = Sleeper::Real();
    EXPECT_CALL(*stub_, ReportLatency)
        .WillOnce([&report](const v1::ReportLatencyRequest& request, const auto&) {
          report = request;
          return v1::ReportLatencyResponse();
        });
  }
};

TEST_F(ConsumerSessionTest, SubscribesAsAsked) {
  options_.dp_rank = 1;
  options_.cp_rank = 1;
  options_.sends_durable = true;
  options_.from_step = 3;
  options_.last_digest = history_.DigestBefore(3);
  options_.last_epoch = 2;
  options_.layout = v1::LAYOUT_NATIVE;
  options_.credits = 5;
  const auto consumer = Open();
  Accept(3);
  EXPECT_EQ(subscribe_.job(), "run");
  EXPECT_EQ(subscribe_.dp_rank(), 1U);
  EXPECT_EQ(subscribe_.cp_rank(), 1U);
  EXPECT_EQ(subscribe_.subscriber(), "trainer");
  EXPECT_TRUE(subscribe_.sends_durable());
  EXPECT_EQ(subscribe_.from_step(), 3U);
  EXPECT_EQ(subscribe_.last_digest(), DigestBytes(history_.DigestBefore(3)));
  EXPECT_EQ(subscribe_.last_epoch(), 2U);
  EXPECT_EQ(subscribe_.credits(), 5U);
  EXPECT_FALSE(subscribe_.has_epoch());
  EXPECT_EQ(subscribe_.layout(), v1::LAYOUT_NATIVE);
}

TEST_F(ConsumerSessionTest, WhatIsNotAskedForIsNotSet) {
  const auto consumer = Open();
  Accept(0);
  EXPECT_FALSE(subscribe_.has_cp_rank());
  EXPECT_FALSE(subscribe_.sends_durable());
  EXPECT_FALSE(subscribe_.has_from_step());
  EXPECT_EQ(subscribe_.last_digest(), "");
  EXPECT_FALSE(subscribe_.has_last_epoch());
  EXPECT_EQ(subscribe_.credits(), 16U);
  EXPECT_EQ(subscribe_.layout(), v1::LAYOUT_UNSPECIFIED);
}

TEST_F(ConsumerSessionTest, TellsWhatItSubscribedTo) {
  const auto consumer = Open();
  Accept(4, 2);
  const absl::StatusOr<Subscription> subscription = consumer->AwaitSubscription();
  ASSERT_THAT(subscription, IsOk());
  EXPECT_EQ(subscription->epoch, 0U);
  EXPECT_EQ(subscription->from_step, 4U);
  EXPECT_EQ(subscription->durable_steps, 2U);
  EXPECT_EQ(subscription->spec->window(), 1024U);
}

TEST_F(ConsumerSessionTest, HandsStepsOutInOrderAndSaysSo) {
  options_.dp_rank = 1;
  const auto consumer = Open();
  const auto call = Accept(2);
  for (const uint64_t index : {2U, 3U, 4U}) call->Send(history_.Step(index, 1));
  for (const uint64_t index : {2U, 3U, 4U}) {
    const auto step = consumer->Next();
    ASSERT_THAT(step, IsOk());
    EXPECT_EQ((*step)->index(), index);
    EXPECT_EQ((*step)->digest(), history_.DigestBefore(index + 1));
    EXPECT_EQ((*step)->micro_batches()[0].index(), 2U);
    EXPECT_EQ(call->AwaitMessage().received().step(), index);
  }
}

TEST_F(ConsumerSessionTest, AStepIsHandedOutThoughNoThreadCanReportIt) {
  v1::ReportLatencyRequest report;
  ReportAtTheEnd(report);
  const auto consumer = Open();
  const auto call = Accept(0);
  for (const uint64_t index : {0U, 1U}) call->Send(history_.Step(index));
  {
    const ::evenpack::testing::RefusedThreads refused;
    EXPECT_EQ(NextIndex(*consumer), 0U);
  }
  EXPECT_EQ(NextIndex(*consumer), 1U);
  EXPECT_THAT(consumer->Close(), IsOk());
  EXPECT_EQ(report.steps_taken(), 2U);
}

TEST_F(ConsumerSessionTest, ADrainedJobEndsAfterItsLastStep) {
  const auto consumer = Open();
  const auto call = Accept(23);
  call->Send(history_.Step(23));
  call->Send(history_.Drained());
  EXPECT_EQ(NextIndex(*consumer), 23U);
  EXPECT_EQ(NextIndex(*consumer), std::nullopt);
  EXPECT_EQ(NextIndex(*consumer), std::nullopt);
  call->AwaitWritesDone();
  call->End(absl::OkStatus());
}

TEST_F(ConsumerSessionTest, FetchesAheadOfTheTrainer) {
  const auto consumer = Open();
  const auto call = Accept(0);
  for (const uint64_t index : {0U, 1U, 2U}) call->Send(history_.Step(index));
  call->End(kGone);
  Accept(3);
  EXPECT_EQ(consumer->buffered_steps(), 3U);
}

TEST_F(ConsumerSessionTest, ALostCallGoesOnBehindTheLastStepThatCame) {
  const auto consumer = Open();
  auto call = Accept(0);
  for (const uint64_t index : {0U, 1U, 2U}) call->Send(history_.Step(index));
  call->End(kGone);
  call = Accept(3);
  EXPECT_EQ(subscribe_.from_step(), 3U);
  EXPECT_EQ(subscribe_.last_digest(), DigestBytes(history_.DigestBefore(3)));
  EXPECT_TRUE(subscribe_.has_epoch());
  EXPECT_EQ(subscribe_.credits(), 16U);
  call->Send(history_.Step(3));
  for (const uint64_t index : {0U, 1U, 2U, 3U}) EXPECT_EQ(NextIndex(*consumer), index);
  // Steps of the lost call aren't marked on this one.
  EXPECT_EQ(call->AwaitMessage().received().step(), 3U);
}

TEST_F(ConsumerSessionTest, EveryEndThatTheTransportMakesIsALostCall) {
  const auto consumer = Open();
  uint64_t index = 0;
  for (const absl::Status& end :
       {absl::OkStatus(), absl::UnavailableError(""), absl::CancelledError(""),
        absl::InternalError(""), absl::UnknownError("")}) {
    const auto call = Accept(index);
    call->Send(history_.Step(index));
    EXPECT_EQ(NextIndex(*consumer), index);
    call->End(end);
    ++index;
  }
  Accept(index);
}

TEST_F(ConsumerSessionTest, AStepThatComesTwiceIsHandedOutOnce) {
  const auto consumer = Open();
  const auto call = Accept(0);
  for (const uint64_t index : {0U, 0U, 1U, 0U, 1U, 2U})
    call->Send(history_.Step(index));
  for (const uint64_t index : {0U, 1U, 2U}) EXPECT_EQ(NextIndex(*consumer), index);
}

TEST_F(ConsumerSessionTest, AGapIsFoundAfterTheStepsBeforeIt) {
  const auto consumer = Open();
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  call->Send(history_.Step(2));
  call->AwaitGone();
  EXPECT_EQ(NextIndex(*consumer), 0U);
  const auto missing =
      StatusIs(absl::StatusCode::kDataLoss, "step 2: came where step 1 is next");
  EXPECT_THAT(consumer->Next(), missing);
  EXPECT_THAT(consumer->Next(), missing);
}

TEST_F(ConsumerSessionTest, ADamagedStepIsFoundAndNotRetried) {
  const auto consumer = Open();
  const auto call = Accept(0);
  v1::StreamStepsResponse damaged = history_.Step(0);
  damaged.mutable_step()->mutable_micro_batches(1)->mutable_documents()->set_sequence(
      0, 9);
  call->Send(damaged);
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("step 0, micro-batch 1: digest")));
  call->AwaitGone();
  EXPECT_EQ(stub_->step_calls(), 0U);
}

TEST_F(ConsumerSessionTest, StepsOfOtherRanksAreRefused) {
  options_.cp_rank = 1;
  const auto expect = [this](const v1::StreamStepsResponse& sent, const char* says) {
    const auto consumer = Open();
    Accept(1)->Send(sent);
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(says)));
  };
  expect(history_.Step(1, 1, 1), "step 1: is for dp_rank 1, not 0");
  expect(history_.Step(1, 0), "step 1, micro-batch 0: has no slices of cp_rank 1");
  expect(history_.Step(1, 0, 0), "step 1, micro-batch 0: has no slices of cp_rank 1");
}

TEST_F(ConsumerSessionTest, ARankThatAStepsEpochDidNotHaveHasNoSlicesOfIt) {
  options_.cp_rank = 2;
  const auto consumer = Open();
  Accept(1)->Send(history_.Step(1, 0));
  const auto step = consumer->Next();
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ((*step)->micro_batches()[0].cp_rank(), std::nullopt);
}

TEST_F(ConsumerSessionTest, AServerOfAnotherHistoryIsRefused) {
  const auto consumer = Open();
  auto call = Accept(0);
  call->Send(history_.Step(0));
  call->End(kGone);
  Accept(2);
  EXPECT_EQ(NextIndex(*consumer), 0U);
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("from_step: the server")));
}

TEST_F(ConsumerSessionTest, MessagesThatAreOutOfPlaceAreRefused) {
  const auto expect = [this](const v1::StreamStepsResponse& sent, const char* says) {
    const auto consumer = Open();
    const auto call = stub_->AwaitStepCall();
    call->Send(sent);
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(says)));
  };
  expect(history_.Step(0), "before `subscribed`");
  expect(history_.Drained(), "before `subscribed`");
  v1::StreamStepsResponse subscribed = history_.Subscribed(0);
  subscribed.mutable_subscribed()->clear_previous_digest();
  expect(subscribed, "previous_digest: has 0 bytes");
}

TEST_F(ConsumerSessionTest, AnEndThatIsNotTheStepsIsRefused) {
  const auto consumer = Open();
  Accept(22)->Send(history_.Drained());
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("drained: the job had 24 steps")));
}

TEST_F(ConsumerSessionTest, BacksOffLongerWithEachFailure) {
  const auto consumer = Open();
  for (int i = 0; i < 4; ++i) stub_->AwaitStepCall()->End(kGone);
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  call->End(kGone);
  Accept(1);
  EXPECT_THAT(sleeper_->slept(),
              ElementsAre(milliseconds(100), milliseconds(160), milliseconds(256),
                          std::chrono::microseconds(409'600), milliseconds(100)));
}

TEST_F(ConsumerSessionTest, WaitsAsLongAsTheServerAsks) {
  const auto consumer = Open();
  ErrorDetails details;
  details.retry_delay = std::chrono::seconds(2);
  stub_->AwaitStepCall()->End(
      WithDetails(absl::ResourceExhaustedError("too many subscriptions"), details));
  Accept(0);
  EXPECT_THAT(sleeper_->slept(), ElementsAre(std::chrono::seconds(2)));
}

TEST_F(ConsumerSessionTest, GivesUpWhenTheBackoffEnds) {
  client_options_.backoff.total = milliseconds(300);
  const auto consumer = Open();
  for (int i = 0; i < 4; ++i) stub_->AwaitStepCall()->End(kGone);
  EXPECT_THAT(consumer->Next(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "connection reset (gave up after 4 attempts)"));
  EXPECT_THAT(consumer->AwaitSubscription(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gave up")));
}

TEST_F(ConsumerSessionTest, ARefusalComesAfterTheStepsBeforeItAndStays) {
  const auto consumer = Open();
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  call->End(ServerError(absl::StatusCode::kNotFound, "job 'run'", "JOB_NOT_FOUND"));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = consumer->Next().status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "job 'run'"));
    EXPECT_EQ(DetailsOf(status).reason, "JOB_NOT_FOUND");
  }
}

TEST_F(ConsumerSessionTest, ALostClaimComesAtOnce) {
  const auto consumer = Open();
  auto call = Accept(0);
  call->Send(history_.Step(0));
  call->Send(history_.Step(1));
  call->End(kGone);
  call = Accept(2);
  call->End(ServerError(absl::StatusCode::kAborted,
                        "a newer subscription took the claim", "CLAIM_TAKEN"));
  while (consumer->buffered_steps() != 0) std::this_thread::yield();
  const absl::Status status = consumer->Next().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, HasSubstr("newer")));
  EXPECT_EQ(DetailsOf(status).reason, "CLAIM_TAKEN");
}

TEST_F(ConsumerSessionTest, ReconnectsOnceAStepHasRoom) {
  options_.max_buffered_steps = 2;
  const auto consumer = Open();
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  call->Send(history_.Step(1));
  call->End(kGone);
  call->AwaitGone();
  EXPECT_EQ(stub_->step_calls(), 0U);
  EXPECT_EQ(NextIndex(*consumer), 0U);
  Accept(2);
  EXPECT_EQ(NextIndex(*consumer), 1U);
}

TEST_F(ConsumerSessionTest, CancellingEndsCallsUnderWay) {
  const auto consumer = Open();
  const auto call = Accept(0);
  ASSERT_THAT(consumer->AwaitSubscription(), IsOk());
  std::thread trainer([&consumer] {
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
  });
  consumer->Cancel();
  trainer.join();
  EXPECT_THAT(consumer->AwaitSubscription(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
  call->AwaitGone();
  EXPECT_THAT(consumer->Close(), IsOk());
}

TEST_F(ConsumerSessionTest, CanBeDestroyedAtAnyMoment) {
  Open();
  while (stub_->step_calls() != 0) stub_->AwaitStepCall();
  auto consumer = Open();
  const auto call = stub_->AwaitStepCall();
  consumer.reset();
  call->AwaitGone();

  client_options_.sleeper = Sleeper::Real();
  client_options_.backoff.initial = client_options_.backoff.maximum =
      client_options_.backoff.total = milliseconds(3'600'000);
  client_options_.backoff.jitter = 0;
  consumer = Open();
  stub_->AwaitStepCall()->End(kGone);
  consumer.reset();
}

// Counts how often it is asked, so that a test knows that a call has begun.
class WatchedClock final : public Clock {
 public:
  TimePoint Now() const override {
    MutexLock lock(mutex_);
    ++asked_;
    changed_.SignalAll();
    return now_;
  }
  void AdvanceOnceAsked(int times, TimePoint::duration duration) {
    MutexLock lock(mutex_);
    while (asked_ < times) changed_.Wait(mutex_);
    now_ += duration;
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable int asked_ EVENPACK_GUARDED_BY(mutex_) = 0;
  TimePoint now_ EVENPACK_GUARDED_BY(mutex_);
};

TEST_F(ConsumerSessionTest, CountsTheSecondsThatTheTrainerWaited) {
  WatchedClock clock;
  client_options_.clock = &clock;
  const auto consumer = Open();
  const auto call = Accept(0);
  std::thread trainer([&consumer] {
    for (const uint64_t index : {0U, 1U, 2U}) EXPECT_EQ(NextIndex(*consumer), index);
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  });
  // The call asks for the time when it is answered, Next() when it begins and when it
  // has a step.
  clock.AdvanceOnceAsked(2, std::chrono::seconds(40));
  call->Send(history_.Step(0));
  clock.AdvanceOnceAsked(4, std::chrono::seconds(2));
  call->Send(history_.Step(1));
  clock.AdvanceOnceAsked(6, milliseconds(500));
  call->Send(history_.Step(2));
  // A wait that ends with no step isn't one for a step.
  clock.AdvanceOnceAsked(8, std::chrono::seconds(7));
  consumer->Cancel();
  trainer.join();
  const StepWait wait = consumer->step_wait();
  EXPECT_EQ(wait.first_step_seconds, 40);
  EXPECT_EQ(wait.seconds, 2.5);
  EXPECT_EQ(consumer->step_wait_seconds(), 2.5);
  EXPECT_EQ(wait.steps_taken, 3U);
}

TEST_F(ConsumerSessionTest, AWaitThatOutlastsACallIsCountedOnce) {
  WatchedClock clock;
  client_options_.clock = &clock;
  const auto consumer = Open();
  auto call = Accept(0);
  call->Send(history_.Step(0));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  std::thread trainer([&consumer] { EXPECT_EQ(NextIndex(*consumer), 1U); });
  // The call asked when it was answered, the first Next() twice.
  clock.AdvanceOnceAsked(4, std::chrono::seconds(2));
  call->End(kGone);
  call = Accept(1);
  clock.AdvanceOnceAsked(4, std::chrono::seconds(3));
  call->End(kGone);
  call = Accept(1);
  // A step that came before doesn't end the wait.
  call->Send(history_.Step(0));
  call->Send(history_.Step(1));
  trainer.join();
  EXPECT_EQ(consumer->step_wait().seconds, 5);
  EXPECT_EQ(consumer->step_wait().steps_taken, 2U);
}

TEST_F(ConsumerSessionTest, ReportsWaitsAndLatenciesAtTheEnd) {
  v1::ReportLatencyRequest report;
  ReportAtTheEnd(report);
  const auto consumer = Open();
  Accept(0)->Send(history_.Step(0));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  consumer->ReportLatency({0, 1, 500, 900});
  EXPECT_THAT(consumer->Close(), IsOk());
  EXPECT_EQ(report.job(), "run");
  EXPECT_EQ(report.steps_taken(), 1U);
  EXPECT_EQ(report.step_wait_seconds(), 0);
  ASSERT_EQ(report.micro_batches_size(), 1);
  EXPECT_EQ(report.micro_batches(0).forward_ns(), 500);
  EXPECT_THAT(consumer->Next(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("closed")));
}

TEST_F(ConsumerSessionTest, ReportsOfStepsTakenAheadWhatTheTrainerSaysItWaited) {
  options_.reports_waits = false;
  v1::ReportLatencyRequest report;
  ReportAtTheEnd(report);
  const auto consumer = Open();
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  call->Send(history_.Step(1));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  EXPECT_EQ(NextIndex(*consumer), 1U);
  consumer->ReportWait(2.5);
  EXPECT_THAT(consumer->Close(), IsOk());
  EXPECT_EQ(report.steps_taken(), 1U);
  EXPECT_EQ(report.step_wait_seconds(), 2.5);
}

}  // namespace
}  // namespace evenpack::client
