// The half of Job that subscribers and observers use: job_sessions.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/control/job.h"
#include "server/core/engine/admission_rule.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::DoRemove;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::Open;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

class JobSessionsTest : public ::testing::Test {
 protected:
  // A job of its own that decides one step until that is durable, and whose stream is
  // full with the documents of one more.
  std::shared_ptr<Job> MakeFullJob() {
    JobSpec spec = SmallJob();
    spec.max_steps_ahead = 1;
    spec.max_buffered_tokens = WindowTokens(spec);
    auto job = room_.MakeJob(spec, "full");
    EXPECT_THAT(DoIngest(*job, 0, StepsOfDocuments(2)), IsOk());
    return job;
  }
  static void MakeDurable(Job& job, uint64_t step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(Do(job, Acknowledge{rank, step, 0}), IsOk());
    }
  }
  // An ingest that stands still in its commit.
  Awaited<absl::Status> BlockWithIngest(uint64_t first_sequence) {
    room_.store().Block();
    Awaited<absl::Status> done;
    Ingest command;
    command.stream = "a";
    command.first_sequence = first_sequence;
    command.lengths = StepsOfDocuments(1);
    job_->Submit(command, done);
    room_.store().WaitUntilBlocked();
    return done;
  }

  ControlRoom room_;
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
};

TEST_F(JobSessionsTest, DescribeTellsAllThatThereIs) {
  JobSpec spec = SmallJob();
  spec.streams = {{.name = "a"}, {.name = "b"}};
  const auto job = room_.MakeJob(spec, "two");
  ASSERT_THAT(DoIngest(*job, 0, {50, 50, 50, 50, 50}, "a"), IsOk());
  ASSERT_THAT(DoIngest(*job, 0, {50, 50, 50, 140}, "b"), IsOk());
  ASSERT_THAT(Do(*job, Acknowledge{1, 0, 0}), IsOk());
  ASSERT_THAT(Do(*job, EndOfStream{"b", 4}), IsOk());
  const Follower follower(job);
  const JobStatus status = Describe(*job).value();
  EXPECT_EQ(status.name, "two");
  EXPECT_EQ(status.spec->streams, spec.streams);
  EXPECT_EQ(status.epoch, 0U);
  EXPECT_EQ(status.next_step, 1U);
  EXPECT_EQ(status.durable_steps, 0U);
  EXPECT_EQ(status.oldest_step, 0U);
  EXPECT_EQ(status.digest, job->FindStep(0).value()->step.digest);
  ASSERT_EQ(status.streams.size(), 2U);
  EXPECT_EQ(status.streams[0].name, "a");
  EXPECT_EQ(status.streams[0].next_sequence, 5U);
  EXPECT_FALSE(status.streams[0].ended);
  EXPECT_EQ(status.streams[1].next_sequence, 4U);
  EXPECT_TRUE(status.streams[1].ended);
  EXPECT_FALSE(status.drained);
  EXPECT_EQ(status.subscribers, 1U);
  EXPECT_THAT(status.durable_steps_per_rank, ElementsAre(0, 1));
  // What was accepted is emitted, waits, or is buffered.
  const uint64_t buffered =
      status.streams[0].buffered_documents + status.streams[1].buffered_documents;
  const uint64_t tokens =
      status.streams[0].buffered_tokens + status.streams[1].buffered_tokens;
  uint64_t emitted = 0;
  for (const MicroBatch& micro_batch : job->FindStep(0).value()->step.micro_batches) {
    emitted += micro_batch.documents.size();
  }
  EXPECT_EQ(emitted + status.waiting_documents + buffered, 9U);
  EXPECT_EQ(job->FindStep(0).value()->totals.tokens + status.waiting_tokens + tokens,
            8U * 50 + 140);
}

TEST_F(JobSessionsTest, AnswersComeAfterTheCommitOfWhatTheyTell) {
  const auto ingested = BlockWithIngest(0);
  const Awaited<absl::StatusOr<JobStatus>> status;
  job_->Describe(status);
  const Awaited<absl::StatusOr<StreamPosition>> position;
  job_->OpenStream("a", position);
  EXPECT_FALSE(status.IsSet());
  EXPECT_FALSE(position.IsSet());
  room_.store().Release();
  EXPECT_EQ(status.Get()->next_step, 1U);
  EXPECT_EQ(position.Get()->next_sequence, 8U);
  EXPECT_TRUE(ingested.IsSet());
}

TEST_F(JobSessionsTest, AnswersAboutWhatFailsAreUnavailable) {
  const auto ingested = BlockWithIngest(0);
  const Awaited<absl::StatusOr<JobStatus>> status;
  job_->Describe(status);
  const Awaited<absl::StatusOr<StreamPosition>> position;
  job_->OpenStream("a", position);
  room_.store().FailCommits(2);
  room_.store().Release();
  EXPECT_THAT(status.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_THAT(position.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_EQ(Open(*job_)->next_sequence, 0U);
}

TEST_F(JobSessionsTest, OpeningAStreamTellsItsPlaceAndPosition) {
  JobSpec spec = SmallJob();
  spec.streams = {{.name = "a"}, {.name = "b"}};
  const auto job = room_.MakeJob(spec, "two");
  ASSERT_THAT(DoIngest(*job, 0, {10, 20}, "b"), IsOk());
  ASSERT_THAT(Do(*job, EndOfStream{"b", 2}), IsOk());
  const StreamPosition b = Open(*job, "b").value();
  EXPECT_EQ(b.index, 1U);
  EXPECT_EQ(b.next_sequence, 2U);
  EXPECT_TRUE(b.ended);
  const absl::Status unknown = Open(*job, "c").status();
  EXPECT_THAT(unknown, StatusIs(absl::StatusCode::kNotFound,
                                "stream: 'c' is not one of the job's; accepted: 'a' "
                                "and others"));
  EXPECT_EQ(DetailOf(unknown), (StatusDetail{"STREAM_NOT_FOUND", {{"stream", "c"}}}));
}

TEST_F(JobSessionsTest, AFullStreamHasRoomOnceAStepTookSome) {
  EXPECT_EQ(job_->WaitForRoom(0, [] {}), std::nullopt);
  const auto job = MakeFullJob();
  const Awaited<bool> released;
  ASSERT_NE(job->WaitForRoom(0, [released] { released(true); }), std::nullopt);
  EXPECT_TRUE(job->Figures().streams[0].full);
  EXPECT_FALSE(released.IsSet());
  MakeDurable(*job, 0);
  EXPECT_TRUE(released.Get());
  EXPECT_EQ(job->WaitForRoom(0, [] {}), std::nullopt);
}

TEST_F(JobSessionsTest, AFullStreamThatIsOfferedMoreTakesIt) {
  const auto job = MakeFullJob();
  // A message is accepted whole.
  EXPECT_THAT(DoIngest(*job, 16, StepsOfDocuments(3)), IsOk());
  EXPECT_EQ(Describe(*job)->streams[0].buffered_documents, 32U);
}

TEST_F(JobSessionsTest, OneThatStopsWaitingIsNotCalled) {
  bool called = false;
  {
    ControlRoom room;
    JobSpec spec = SmallJob();
    spec.max_steps_ahead = 1;
    spec.max_buffered_tokens = WindowTokens(spec);
    const auto job = room.MakeJob(spec);
    ASSERT_THAT(DoIngest(*job, 0, StepsOfDocuments(2)), IsOk());
    const auto number = job->WaitForRoom(0, [&called] { called = true; });
    job->StopWaiting(number.value());
    const Awaited<bool> other;
    ASSERT_NE(job->WaitForRoom(0, [other] { other(true); }), std::nullopt);
    MakeDurable(*job, 0);
    EXPECT_TRUE(other.Get());
  }
  EXPECT_FALSE(called);
}

TEST_F(JobSessionsTest, AFailureThatTakesTheDocumentsAwayReleasesWhoWaits) {
  JobSpec spec = SmallJob();
  spec.max_steps_ahead = 1;
  spec.max_buffered_tokens = WindowTokens(spec);
  const auto job = room_.MakeJob(spec, "full");
  room_.store().Block();
  const Awaited<absl::Status> ingested;
  Ingest command;
  command.stream = "a";
  command.lengths = StepsOfDocuments(2);
  job->Submit(command, ingested);
  const Awaited<bool> released;
  ASSERT_NE(job->WaitForRoom(0, [released] { released(true); }), std::nullopt);
  room_.store().FailCommits(2);
  room_.store().Release();
  EXPECT_FALSE(ingested.Get().ok());
  EXPECT_TRUE(released.Get());
}

TEST_F(JobSessionsTest, ARemovalReleasesWhoWaits) {
  const auto job = MakeFullJob();
  const Awaited<bool> released;
  ASSERT_NE(job->WaitForRoom(0, [released] { released(true); }), std::nullopt);
  ASSERT_THAT(DoRemove(*job), IsOk());
  EXPECT_TRUE(released.Get());
  EXPECT_EQ(job->WaitForRoom(0, [] {}), std::nullopt);
}

TEST_F(JobSessionsTest, ARemovalIsToldToProducersThatThereStillAre) {
  const Awaited<bool> told;
  job_->AddProducer([told](const absl::Status& status) {
    EXPECT_EQ(DetailOf(status).reason, "JOB_NOT_FOUND");
    told(true);
  });
  const Awaited<bool> gone;
  job_->RemoveProducer(job_->AddProducer([gone](const absl::Status&) { gone(true); }));
  EXPECT_EQ(job_->Figures().producers, 1U);
  ASSERT_THAT(DoRemove(*job_), IsOk());
  EXPECT_TRUE(told.IsSet()) << "before the removal is answered";
  EXPECT_FALSE(gone.IsSet());
}

TEST_F(JobSessionsTest, ASubscriberIsToldWhereItStands) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  ASSERT_THAT(Do(*job_, Acknowledge{1, 0, 0}), IsOk());
  SubscribeRequest request;
  request.dp_rank = 1;
  const Follower follower(job_, request);
  EXPECT_EQ(follower.subscribed().epoch, 0U);
  EXPECT_EQ(follower.subscribed().from_step, 1U);
  EXPECT_EQ(follower.subscribed().durable_steps, 1U);
  EXPECT_EQ(follower.subscribed().previous_digest,
            job_->FindStep(0).value()->step.digest);
  EXPECT_EQ(follower.subscribed().spec->window, 100U);
  request.from_step = 4;
  EXPECT_THAT(Follower(job_, request).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("from_step: 4")));
}

TEST_F(JobSessionsTest, WhoLosesItsClaimIsWoken) {
  Follower older(job_);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(older.Next()));
  const Follower newer(job_);
  const absl::Status end = older.TakeEnd();
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kAborted, HasSubstr("dp_rank 0")));
  EXPECT_EQ(DetailOf(end).reason, "CLAIM_TAKEN");
  EXPECT_EQ(older.wakes(), 1);
}

TEST_F(JobSessionsTest, AMarkOfWhoHasLostItsClaimIsRefused) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(2)), IsOk());
  SubscribeRequest request;
  request.sends_durable = true;
  const Follower older(job_, request);
  const Follower newer(job_, request);
  const Awaited<absl::Status> taken;
  job_->MarkDurable(older.subscription(), 0, 0, taken);
  EXPECT_EQ(DetailOf(taken.Get()).reason, "CLAIM_TAKEN");
  EXPECT_EQ(job_->DurableStepsOf(0).value(), 0U);
}

TEST_F(JobSessionsTest, ACreditThatComesBackWakesItsSubscriberAlone) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(2)), IsOk());
  SubscribeRequest request;
  request.credits = 1;
  Follower follower(job_, request);
  request.subscriber = "other";
  Follower other(job_, request);
  for (Follower* each : {&follower, &other}) {
    EXPECT_TRUE(std::holds_alternative<SendStep>(each->Next()));
    EXPECT_TRUE(std::holds_alternative<NothingYet>(each->Next()));
  }
  EXPECT_THAT(follower.Received(1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("received: step 1")));
  EXPECT_EQ(follower.wakes(), 0);
  EXPECT_THAT(follower.Received(0), IsOk());
  EXPECT_EQ(follower.wakes(), 1);
  EXPECT_EQ(other.wakes(), 0);
  EXPECT_EQ(follower.TakeStep()->step.index, 1U);
}

TEST_F(JobSessionsTest, ADurableMarkIsToldOnceItIsCommitted) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  SubscribeRequest request;
  request.sends_durable = true;
  request.from_step = 3;
  Follower follower(job_, request);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  const Awaited<absl::Status> committed;
  room_.store().Block();
  job_->MarkDurable(follower.subscription(), 1, 0, committed);
  room_.store().WaitUntilBlocked();
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  EXPECT_FALSE(committed.IsSet());
  room_.store().Release();
  EXPECT_THAT(committed.Get(), IsOk());
  EXPECT_EQ(std::get<SendMarked>(follower.Take()).durable_steps, 2U);
  EXPECT_EQ(job_->DurableStepsOf(0).value(), 2U);
  // A mark below it is answered too, with what is.
  const Awaited<absl::Status> lower;
  job_->MarkDurable(follower.subscription(), 0, 0, lower);
  EXPECT_THAT(lower.Get(), IsOk());
  EXPECT_EQ(std::get<SendMarked>(follower.Take()).durable_steps, 2U);
}

TEST_F(JobSessionsTest, MarksAreRefusedWithTheReason) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  const Follower listener(job_);
  const Awaited<absl::Status> unclaimed;
  job_->MarkDurable(listener.subscription(), 0, 0, unclaimed);
  EXPECT_THAT(unclaimed.Get(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "durable: this subscription does not send durable marks; "
                       "accepted on one with sends_durable"));
  EXPECT_EQ(DetailOf(unclaimed.Get()).reason, "DURABLE_NOT_CLAIMED");

  SubscribeRequest request;
  request.sends_durable = true;
  const Follower sender(job_, request);
  const Awaited<absl::Status> early;
  job_->MarkDurable(sender.subscription(), 1, 0, early);
  EXPECT_THAT(early.Get(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step: 1")));
  const Awaited<absl::Status> other_epoch;
  job_->MarkDurable(sender.subscription(), 0, 1, other_epoch);
  EXPECT_THAT(other_epoch.Get(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch: 1")));
  room_.store().FailCommits(2);
  const Awaited<absl::Status> failed;
  job_->MarkDurable(sender.subscription(), 0, 0, failed);
  EXPECT_THAT(failed.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
}

TEST_F(JobSessionsTest, WhoUnsubscribesIsGone) {
  { const Follower follower(job_); }
  EXPECT_EQ(Describe(*job_)->subscribers, 0U);
  EXPECT_EQ(job_->Figures().subscribers, 0U);
}

TEST_F(JobSessionsTest, ManySubscribersAreAllWoken) {
  std::vector<std::unique_ptr<Follower>> followers;
  for (int i = 0; i < 300; ++i) {
    SubscribeRequest request;
    request.subscriber = std::to_string(i);
    followers.push_back(std::make_unique<Follower>(job_, request));
    EXPECT_TRUE(std::holds_alternative<NothingYet>(followers.back()->Next()));
  }
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  for (const auto& follower : followers) {
    EXPECT_EQ(follower->TakeStep()->step.index, 0U);
  }
}

TEST_F(JobSessionsTest, DurableStepsAreOfTheRanksThatThereAre) {
  EXPECT_EQ(job_->DurableStepsOf(1).value(), 0U);
  EXPECT_THAT(job_->DurableStepsOf(2),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "dp_rank: 2 is not accepted; accepted: 0 to 1"));
}

}  // namespace
}  // namespace evenpack
