#include "server/control/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/status_detail.h"
#include "server/store/no_store.h"
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
using testing::DoUpdate;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::Open;
using testing::OutlierJob;
using testing::SmallJob;
using ::testing::StartsWith;
using testing::StatusIs;
using testing::StepsOfDocuments;

Ingest IngestOf(uint64_t first_sequence, const std::vector<uint32_t>& lengths) {
  Ingest command;
  command.stream = "a";
  command.first_sequence = first_sequence;
  command.lengths = lengths;
  return command;
}

class JobTest : public ::testing::Test {
 protected:
  void Make(const JobSpec& spec) { job_ = room_.MakeJob(spec); }
  Awaited<absl::Status> Submit(const Command& command) {
    Awaited<absl::Status> done;
    job_->Submit(command, done);
    return done;
  }
  // From now on nothing is committed; returns an ingest under way.
  Awaited<absl::Status> BlockWith(const Ingest& command) {
    room_.store().Block();
    Awaited<absl::Status> done = Submit(command);
    room_.store().WaitUntilBlocked();
    return done;
  }
  // Both ranks.
  void MakeDurable(uint64_t step, uint64_t epoch = 0) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(Do(*job_, Acknowledge{rank, step, epoch}), IsOk());
    }
  }

  ControlRoom room_;
  std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
};

TEST_F(JobTest, StepsAreSeenOnceTheirCommitHasReturned) {
  Follower follower(job_);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  const auto done = BlockWith(IngestOf(0, StepsOfDocuments(1)));
  EXPECT_THAT(job_->FindStep(0), StatusIs(absl::StatusCode::kOutOfRange,
                                          HasSubstr("the next to be is 0")));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  EXPECT_EQ(follower.wakes(), 0);
  EXPECT_FALSE(done.IsSet());

  room_.store().Release();
  EXPECT_THAT(done.Get(), IsOk());
  follower.WaitUntilWoken(1);
  EXPECT_EQ(follower.TakeStep(), job_->FindStep(0).value());
  EXPECT_EQ(follower.wakes(), 1);
}

TEST_F(JobTest, OneIngestFormsAllStepsThatItCan) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
  ASSERT_THAT(DoIngest(*job_, 24, std::vector<uint32_t>(7, 50)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
  ASSERT_THAT(DoIngest(*job_, 31, {50}), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 4U);
}

TEST_F(JobTest, AFailedCommitLeavesTheStateOfTheStore) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  const Digest128 digest = Describe(*job_)->digest;
  room_.store().FailCommits(2);
  const absl::Status failed = DoIngest(*job_, 8, StepsOfDocuments(2));
  EXPECT_THAT(failed,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(DetailOf(failed).reason, "STORE_FAILED");
  const JobStatus status = Describe(*job_).value();
  EXPECT_EQ(status.next_step, 1U);
  EXPECT_EQ(status.digest, digest);
  EXPECT_EQ(status.streams[0].next_sequence, 8U);
  EXPECT_THAT(job_->FindStep(1).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("not decided yet")));

  // The same documents again, or others.
  EXPECT_THAT(DoIngest(*job_, 8, std::vector<uint32_t>(4, 100)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 2U);
}

TEST_F(JobTest, WhatWasDecidedOnAFailedStateIsRefusedAndCanBeSentAgain) {
  const auto first = BlockWith(IngestOf(0, StepsOfDocuments(1)));
  room_.store().FailCommits(2);
  const auto second = Submit(IngestOf(8, StepsOfDocuments(1)));
  const auto end = Submit(EndOfStream{"a", 16});
  const Awaited<absl::StatusOr<JobStatus>> described;
  job_->Describe(described);
  room_.store().Release();
  EXPECT_THAT(first.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  for (const auto& dropped : {second, end}) {
    EXPECT_THAT(dropped.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("an earlier one failed")));
  }
  EXPECT_THAT(described.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("earlier")));

  EXPECT_EQ(Open(*job_)->next_sequence, 0U);
  Follower follower(job_);
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(2)), IsOk());
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 16}), IsOk());
  EXPECT_EQ(follower.TakeAll().size(), 2U);
}

TEST_F(JobTest, TheFailureOfOneJobsWritesLeavesOthersAlone) {
  const auto other = room_.MakeJob(SmallJob(), "other");
  const auto first = BlockWith(IngestOf(0, StepsOfDocuments(1)));
  room_.store().FailCommitsOf("job");
  const auto second = Submit(IngestOf(8, StepsOfDocuments(1)));
  const Awaited<absl::Status> others;
  other->Submit(IngestOf(0, StepsOfDocuments(1)), others);
  room_.store().Release();
  EXPECT_THAT(others.Get(), IsOk());
  EXPECT_THAT(first.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(second.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stored")));
  EXPECT_EQ(Describe(*other)->next_step, 1U);
}

TEST_F(JobTest, WhereTheStoreCannotBeReadBackEitherTheJobTriesAgainAtEachRequest) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  room_.store().FailCommits(2);
  room_.store().FailLoads(3);
  EXPECT_THAT(DoIngest(*job_, 8, StepsOfDocuments(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  // One load was of the failure itself.
  for (const absl::Status& status :
       {DoIngest(*job_, 8, StepsOfDocuments(1)), Open(*job_).status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("the disk is gone")));
    EXPECT_EQ(DetailOf(status).reason, "STORE_FAILED");
  }
  EXPECT_THAT(DoIngest(*job_, 8, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 2U);
}

TEST_F(JobTest, AnUpdateFromTheNextStepIsOfTheStateThatIsLoadedAgain) {
  room_.store().FailCommits(2);
  room_.store().FailLoads(1);
  EXPECT_FALSE(DoIngest(*job_, 0, StepsOfDocuments(3)).ok());
  EXPECT_THAT(DoUpdate(*job_, SmallJob()), IsOk());
  EXPECT_EQ(Describe(*job_)->epoch, 1U);
}

TEST_F(JobTest, AReSendIsAnsweredWithWhatItWasFirstSentFor) {
  const auto first = BlockWith(IngestOf(0, {50, 60}));
  const auto again = Submit(IngestOf(0, {50, 60}));
  const auto part = Submit(IngestOf(1, {60}));
  EXPECT_FALSE(again.IsSet());
  room_.store().Release();
  EXPECT_THAT(first.Get(), IsOk());
  EXPECT_THAT(again.Get(), IsOk());
  EXPECT_THAT(part.Get(), IsOk());
  EXPECT_EQ(Describe(*job_)->streams[0].next_sequence, 2U);
  // What was known is not stored twice.
  EXPECT_EQ(room_.memory().Load("job")->records.size(), 2U);

  room_.store().Block();
  const auto failing = Submit(IngestOf(2, {70}));
  room_.store().WaitUntilBlocked();
  const auto too = Submit(IngestOf(2, {70}));
  room_.store().FailCommits(2);
  room_.store().Release();
  EXPECT_THAT(failing.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_THAT(too.Get(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
}

TEST_F(JobTest, RefusalsSayWhatAClientNeedsToGoOn) {
  ASSERT_THAT(DoIngest(*job_, 0, {10, 20, 30}), IsOk());
  using Values = std::map<std::string, std::string>;
  const Values position = {{"stream", "a"}, {"next_sequence", "3"}};
  const auto expect = [](const absl::Status& status, absl::StatusCode code,
                         const std::string& message, const std::string& reason,
                         const Values& values) {
    EXPECT_THAT(status, StatusIs(code, HasSubstr(message)));
    EXPECT_EQ(DetailOf(status), (StatusDetail{reason, values}));
  };
  expect(DoIngest(*job_, 4, {10}), absl::StatusCode::kOutOfRange,
         "first_sequence: 4 leaves a gap in stream 'a'; accepted: up to 3",
         "SEQUENCE_GAP", position);
  expect(DoIngest(*job_, 1, {21, 30}), absl::StatusCode::kAborted,
         "sequence 1 of stream 'a' was accepted with other content", "CONTENT_DIFFERS",
         position);
  expect(DoIngest(*job_, 3, {151}), absl::StatusCode::kInvalidArgument,
         "lengths[0]: 151 is not accepted", "", {});
  expect(DoIngest(*job_, 0, {10}, "b"), absl::StatusCode::kNotFound, "stream: 'b'", "",
         {});
  expect(Do(*job_, EndOfStream{"a", 2}), absl::StatusCode::kOutOfRange,
         "documents: 2 is not how many stream 'a' has; accepted: 3", "", {});
  expect(Do(*job_, CreateJob{SmallJob()}), absl::StatusCode::kAlreadyExists, "", "",
         {});
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 3}), IsOk());
  expect(DoIngest(*job_, 3, {10}), absl::StatusCode::kFailedPrecondition,
         "stream 'a' ended after 3 documents", "STREAM_ENDED", position);
  EXPECT_THAT(DoIngest(*job_, 0, {10, 20, 30}), IsOk()) << "a re-send";
}

TEST_F(JobTest, BeforeItsCreationThereIsNoJob) {
  auto job = std::make_shared<Job>("new", room_.environment());
  EXPECT_THAT(DoIngest(*job, 0, {10}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not created")));
  EXPECT_THAT(Describe(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'new'")));
  EXPECT_THAT(DoRemove(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'new'")));
  // None of that is in its way.
  EXPECT_THAT(Do(*job, CreateJob{SmallJob()}), IsOk());
}

TEST_F(JobTest, AJobWhoseCreationFailedIsNoJob) {
  auto job = std::make_shared<Job>("new", room_.environment());
  room_.store().FailCommits(2);
  EXPECT_THAT(Do(*job, CreateJob{SmallJob()}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(Describe(*job),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'new'")));
  EXPECT_THAT(Do(*job, CreateJob{SmallJob()}), IsOk());
  EXPECT_THAT(Describe(*job), IsOk());
}

TEST_F(JobTest, StepsAreLetGoOnceEveryRankHasMadeThemDurable) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(4)), IsOk());
  ASSERT_THAT(Do(*job_, Acknowledge{0, 2, 0}), IsOk());
  EXPECT_THAT(job_->FindStep(0), IsOk());
  ASSERT_THAT(Do(*job_, Acknowledge{1, 1, 0}), IsOk());
  EXPECT_THAT(job_->FindStep(1), StatusIs(absl::StatusCode::kOutOfRange,
                                          HasSubstr("the oldest kept is 2")));
  EXPECT_THAT(job_->FindStep(2), IsOk());
  const JobStatus status = Describe(*job_).value();
  EXPECT_THAT(status.durable_steps_per_rank, ElementsAre(3, 2));
  EXPECT_EQ(status.durable_steps, 2U);
  EXPECT_EQ(status.oldest_step, 2U);
}

TEST_F(JobTest, AsManyCheckpointsAreKeptAsTheJobRetains) {
  JobSpec spec = SmallJob();
  spec.retain_checkpoints = 2;
  job_ = room_.MakeJob(spec, "two");
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(6)), IsOk());
  MakeDurable(1);
  EXPECT_EQ(Describe(*job_)->oldest_step, 0U);
  MakeDurable(3);
  EXPECT_EQ(Describe(*job_)->oldest_step, 2U);
  EXPECT_THAT(job_->FindStep(2), IsOk());
  EXPECT_THAT(job_->FindStep(1).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("kept is 2")));
}

TEST_F(JobTest, ADurableMarkNeverMovesBack) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(4)), IsOk());
  ASSERT_THAT(Do(*job_, Acknowledge{0, 2, 0}), IsOk());
  const size_t records = room_.memory().Load("job")->records.size();
  for (const uint64_t step : {2U, 0U}) {
    ASSERT_THAT(Do(*job_, Acknowledge{0, step, 0}), IsOk());
    EXPECT_EQ(job_->DurableStepsOf(0).value(), 3U);
  }
  EXPECT_EQ(Follower(job_).subscribed().from_step, 3U);
  // A mark that changes nothing is not stored.
  EXPECT_EQ(room_.memory().Load("job")->records.size(), records);
}

TEST_F(JobTest, MarksForWhatThereIsNotAreRefused) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  EXPECT_THAT(Do(*job_, Acknowledge{0, 1, 0}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step: 1")));
  EXPECT_THAT(Do(*job_, Acknowledge{2, 0, 0}),
              StatusIs(absl::StatusCode::kOutOfRange, StartsWith("dp_rank: 2 is not")));
  const absl::Status old = Do(*job_, Acknowledge{0, 0, 7});
  EXPECT_THAT(old, StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch: 7")));
  EXPECT_EQ(DetailOf(old), (StatusDetail{"EPOCH_ENDED", {{"epoch", "0"}}}));
}

TEST_F(JobTest, StepsStopAtTheBoundUntilTheyAreMadeDurable) {
  JobSpec spec = SmallJob();
  spec.max_steps_ahead = 2;
  job_ = room_.MakeJob(spec, "two");
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(4)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 2U);
  Follower follower(job_);
  EXPECT_EQ(follower.TakeStep()->step.index, 0U);
  EXPECT_EQ(follower.TakeStep()->step.index, 1U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  MakeDurable(0);
  EXPECT_EQ(follower.TakeStep()->step.index, 2U);
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
}

TEST_F(JobTest, ADrainedJobSaysSoToItsFollowersAndObservers) {
  Follower follower(job_);
  ASSERT_THAT(DoIngest(*job_, 0, {50, 50, 50}), IsOk());
  EXPECT_FALSE(Describe(*job_)->drained);
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 3}), IsOk());
  EXPECT_TRUE(Describe(*job_)->drained);
  const auto steps = follower.TakeAll();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0]->step.kind, StepKind::kDrain);
}

TEST_F(JobTest, ARemovedJobEndsItsFollowersAndIsNotFound) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  Follower follower(job_);
  EXPECT_EQ(follower.TakeStep()->step.index, 0U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  EXPECT_THAT(DoRemove(*job_), IsOk());
  const absl::Status end = follower.TakeEnd();
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
  EXPECT_EQ(DetailOf(end), (StatusDetail{"JOB_NOT_FOUND", {{"job", "job"}}}));

  const absl::Status refused[] = {
      DoIngest(*job_, 8, {10}),
      DoUpdate(*job_, SmallJob()),
      DoUpdate(*job_, SmallJob(), {}, 9),
      DoRemove(*job_),
      Describe(*job_).status(),
      Open(*job_).status(),
      Follower(job_).status(),
      job_->FindStep(0).status(),
      job_->DurableStepsOf(0).status(),
      job_->ReportLatency({}).status(),
  };
  for (const absl::Status& status : refused) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 "job: 'job' is not known; accepted: the name of a "
                                 "job"));
    EXPECT_EQ(DetailOf(status).reason, "JOB_NOT_FOUND");
  }
  EXPECT_THAT(room_.memory().Load("job").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

TEST_F(JobTest, ARemovedJobKeepsNothingForWhoStillHasIt) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
  ASSERT_THAT(DoIngest(*job_, 24, {10, 20}), IsOk());
  EXPECT_EQ(job_->Figures().streams[0].buffered_documents, 2U);
  const std::weak_ptr<const PublishedStep> step = *job_->FindStep(1);
  ASSERT_THAT(DoRemove(*job_), IsOk());
  EXPECT_TRUE(step.expired());
  EXPECT_EQ(job_->Figures().streams[0].buffered_documents, 0U);
}

TEST_F(JobTest, ARemovalThatFailsLeavesTheJob) {
  ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(1)), IsOk());
  room_.store().FailCommits(2);
  EXPECT_THAT(DoRemove(*job_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(DoIngest(*job_, 8, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 2U);
  EXPECT_THAT(DoRemove(*job_), IsOk());
}

TEST_F(JobTest, ASnapshotIsWrittenWhenTheRecordsSinceTheLastOutgrowIt) {
  JobSpec spec = SmallJob();
  spec.description = std::string(1 << 20, 'x');
  // Each record holds the description, and the state those of steps not durable.
  uint64_t snapshots = 0;
  uint64_t covered = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(DoUpdate(*job_, spec), IsOk());
    const StoredJob stored = room_.memory().Load("job").value();
    uint64_t bytes = 0;
    for (const std::string& record : stored.records) bytes += record.size();
    EXPECT_LT(bytes, std::max<uint64_t>(4 << 20, stored.snapshot.size()) + (2 << 20));
    if (stored.snapshot_records != covered) ++snapshots;
    covered = stored.snapshot_records;
  }
  EXPECT_GE(snapshots, 2U);
  EXPECT_LE(snapshots, 5U) << "the state grows, and with it the distance";
  EXPECT_EQ(Describe(*room_.RecoverJob())->epoch, 20U);
}

TEST_F(JobTest, RecordsFromBeforeARestartCountTowardsTheNextSnapshot) {
  JobSpec spec = SmallJob();
  spec.description = std::string(1 << 20, 'x');
  for (int i = 0; i < 12; ++i) {
    ASSERT_THAT(DoUpdate(*job_, spec), IsOk());
    job_ = room_.RecoverJob();
  }
  EXPECT_GT(room_.memory().Load("job")->snapshot_records, 0U);
}

// Digests of a job's steps, marked durable as far as the first, until it is drained.
std::vector<Digest128> DigestsOver(ControlRoom& room) {
  const auto job = room.MakeJob(OutlierJob());
  Follower follower(job);
  EXPECT_THAT(DoIngest(*job, 0, StepsOfDocuments(5)), IsOk());
  EXPECT_THAT(Do(*job, Acknowledge{0, 1, 0}), IsOk());
  EXPECT_THAT(Do(*job, EndOfStream{"a", StepsOfDocuments(5).size()}), IsOk());
  std::vector<Digest128> digests;
  for (const auto& step : follower.TakeAll()) digests.push_back(step->step.digest);
  EXPECT_THAT(DoRemove(*job), IsOk());
  EXPECT_THAT(follower.TakeEnd(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not known")));
  return digests;
}

TEST(JobWithoutAStoreTest, DecidesAsOneWithAStoreAndWritesNothing) {
  NoStore none;
  ControlRoom unkept(none);
  ControlRoom kept;
  const std::vector<Digest128> digests = DigestsOver(unkept);
  EXPECT_GE(digests.size(), 5U);
  EXPECT_EQ(digests, DigestsOver(kept));
  EXPECT_THAT(unkept.store().commits(), IsEmpty());
}

}  // namespace
}  // namespace evenpack
