// Job::Update: what a new shape does to steps, marks and followers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "server/control/job.h"
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
using testing::DoUpdate;
using ::testing::ElementsAre;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ResolveCosts;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

// As SmallJob() with 4 DP ranks of 2 micro-batches: 16 documents of 50 tokens a step.
JobSpec WideJob() {
  JobSpec spec = SmallJob();
  spec.micro_batches = 8;
  spec.data_parallel = 4;
  ResolveCosts(spec);
  return spec;
}

const StatusDetail kWideShape = {"EPOCH_ENDED",
                                 {{"epoch", "1"},
                                  {"data_parallel", "4"},
                                  {"micro_batches", "8"},
                                  {"context_parallel", "1"},
                                  {"window", "100"}}};
// To who was there.
StatusDetail WideShapeFrom(const std::string& step) {
  StatusDetail shape = kWideShape;
  shape.values["from_step"] = step;
  return shape;
}

// A job with five steps, of which rank 0 has made three durable and rank 1 two.
class JobUpdateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(5)), IsOk());
    ASSERT_THAT(Do(*job_, Acknowledge{0, 2, 0}), IsOk());
    ASSERT_THAT(Do(*job_, Acknowledge{1, 1, 0}), IsOk());
  }

  ControlRoom room_;
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
};

// Who had half of step 3, whose digest has all of it, and comes back when those who had
// the rest have made it durable.
TEST_F(JobUpdateTest, WhoHadAStepOfAnotherShapeIsToldSoOnceItWasLetGo) {
  SubscribeRequest late;
  late.from_step = 4;
  late.last_digest = (*job_->FindStep(3))->step.digest;
  late.last_epoch = 0;
  JobSpec narrow = SmallJob();
  narrow.data_parallel = 1;
  ASSERT_THAT(DoUpdate(*job_, narrow, 2), IsOk());
  EXPECT_EQ((*job_->FindStep(3))->step.digest, late.last_digest);
  EXPECT_EQ(DetailOf(Follower(job_, late).status()).reason, "HISTORY_DIFFERS");
  ASSERT_THAT(Do(*job_, Acknowledge{0, 3, 1}), IsOk());
  ASSERT_EQ(Describe(*job_)->oldest_step, 4U);
  EXPECT_EQ(DetailOf(Follower(job_, late).status()).reason, "HISTORY_DIFFERS");
  // Also by a server that reads the job.
  const auto recovered = room_.RecoverJob();
  EXPECT_EQ(DetailOf(Follower(recovered, late).status()).reason, "HISTORY_DIFFERS");
  late.last_epoch = 1;
  EXPECT_THAT(Follower(job_, late).status(), IsOk());
  EXPECT_THAT(Follower(recovered, late).status(), IsOk());
}

TEST_F(JobUpdateTest, DecidedStepsFromThereAreWithdrawnAndFormedAnew) {
  const auto kept = job_->FindStep(2).value();
  const auto withdrawn = job_->FindStep(3).value();
  ASSERT_THAT(DoUpdate(*job_, WideJob(), 3), IsOk());
  EXPECT_EQ(job_->FindStep(2).value(), kept);
  // The documents of steps 3 and 4 make one step of the new shape.
  const auto anew = job_->FindStep(3).value();
  EXPECT_EQ(anew->step.epoch, 1U);
  EXPECT_EQ(anew->step.micro_batches.size(), 8U);
  EXPECT_EQ(anew->step.micro_batches[0].documents,
            withdrawn->step.micro_batches[0].documents);
  EXPECT_EQ(anew->previous, kept->step.digest);
  EXPECT_EQ(anew->spec->data_parallel, 4U);
  EXPECT_EQ(kept->spec->data_parallel, 2U);
  const JobStatus status = Describe(*job_).value();
  EXPECT_EQ(status.epoch, 1U);
  EXPECT_EQ(status.next_step, 4U);
  EXPECT_EQ(status.spec->micro_batches, 8U);
}

TEST_F(JobUpdateTest, WithoutAStepNoneIsWithdrawn) {
  ASSERT_THAT(DoUpdate(*job_, WideJob()), IsOk());
  EXPECT_EQ(Describe(*job_)->next_step, 5U);
  EXPECT_EQ(job_->FindStep(4).value()->step.epoch, 0U);
  ASSERT_THAT(DoIngest(*job_, 40, StepsOfDocuments(2)), IsOk());
  EXPECT_EQ(job_->FindStep(5).value()->step.epoch, 1U);
}

TEST_F(JobUpdateTest, EveryRankOfTheNewShapeHasWhatAllHadMadeDurable) {
  ASSERT_THAT(DoUpdate(*job_, WideJob(), 3), IsOk());
  EXPECT_THAT(Describe(*job_)->durable_steps_per_rank, ElementsAre(2, 2, 2, 2));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(job_->DurableStepsOf(rank).value(), 2U);
    SubscribeRequest request;
    request.dp_rank = rank;
    EXPECT_EQ(Follower(job_, request).subscribed().from_step, 2U);
  }
}

TEST_F(JobUpdateTest, FollowersOfTheOldShapeAreToldTheNewOne) {
  SubscribeRequest request;
  request.from_step = 2;
  Follower follower(job_, request);
  EXPECT_EQ(follower.TakeStep()->step.index, 2U);
  ASSERT_THAT(DoUpdate(*job_, WideJob(), 3), IsOk());
  const absl::Status end = follower.TakeEnd();
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kAborted,
                            "epoch: the job is in epoch 1: data_parallel 4, "
                            "micro_batches 8, context_parallel 1, window 100"));
  EXPECT_EQ(DetailOf(end), WideShapeFrom("3"));
  // It comes again, knowing where it was.
  request.from_step = 3;
  request.epoch = 1;
  request.last_digest = job_->FindStep(2).value()->step.digest;
  Follower again(job_, request);
  EXPECT_EQ(again.subscribed().epoch, 1U);
  EXPECT_EQ(again.TakeStep()->step.epoch, 1U);
  // Or, not knowing of the new epoch, is told.
  request.epoch = 0;
  EXPECT_EQ(DetailOf(Follower(job_, request).status()), kWideShape);
  // Or comes with a step that was withdrawn.
  request.epoch.reset();
  request.from_step = 5;
  EXPECT_THAT(Follower(job_, request).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("from_step: 5")));
}

TEST_F(JobUpdateTest, IsSeenOnceItsCommitHasReturned) {
  Follower follower(job_);
  room_.store().Block();
  const Awaited<absl::StatusOr<JobStatus>> updated;
  job_->Reconfigure([](uint64_t) { return UpdateJob{3, WideJob()}; }, {}, updated);
  room_.store().WaitUntilBlocked();
  EXPECT_EQ(follower.TakeStep()->step.index, 3U) << "rank 0 has made three durable";
  EXPECT_EQ(job_->FindStep(4).value()->step.epoch, 0U);
  room_.store().Release();
  EXPECT_THAT(updated.Get(), IsOk());
  EXPECT_THAT(follower.TakeEnd(), StatusIs(absl::StatusCode::kAborted, HasSubstr("1")));
}

TEST_F(JobUpdateTest, OneThatFailsLeavesStepsAndFollowers) {
  const auto step = job_->FindStep(3).value();
  Follower follower(job_);
  room_.store().FailCommits(2);
  EXPECT_THAT(DoUpdate(*job_, WideJob(), 3),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is full")));
  EXPECT_EQ(job_->FindStep(3).value(), step);
  EXPECT_EQ(follower.TakeStep(), step);
  EXPECT_EQ(Describe(*job_)->epoch, 0U);
  ASSERT_THAT(DoIngest(*job_, 40, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 4U);
  EXPECT_EQ(follower.TakeStep()->step.epoch, 0U);
}

TEST_F(JobUpdateTest, AMarkForAWithdrawnStepIsAborted) {
  ASSERT_THAT(DoUpdate(*job_, WideJob(), 3), IsOk());
  EXPECT_THAT(Do(*job_, Acknowledge{0, 2, 0}), IsOk());
  const absl::Status old = Do(*job_, Acknowledge{0, 3, 0});
  EXPECT_THAT(old, StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch: 0")));
  EXPECT_EQ(DetailOf(old), (StatusDetail{"EPOCH_ENDED", {{"epoch", "1"}}}));
  EXPECT_THAT(Do(*job_, Acknowledge{3, 3, 1}), IsOk());
}

TEST_F(JobUpdateTest, AnotherEpochThanExpectedIsAborted) {
  ASSERT_THAT(DoUpdate(*job_, SmallJob(), {}, 0), IsOk());
  const absl::Status refused = DoUpdate(*job_, WideJob(), {}, 0);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kAborted,
                                HasSubstr("epoch: the job is in epoch 1: ")));
  EXPECT_EQ(DetailOf(refused).reason, "EPOCH_ENDED");
  EXPECT_EQ(Describe(*job_)->spec->data_parallel, 2U);
}

TEST_F(JobUpdateTest, RefusedOnesChangeNothing) {
  JobSpec narrow = SmallJob();
  narrow.max_length = 100;
  ResolveCosts(narrow);
  ASSERT_THAT(DoIngest(*job_, 40, {140}), IsOk());
  JobSpec renamed = SmallJob();
  renamed.streams[0].name = "b";
  JobSpec invalid = SmallJob();
  invalid.context_parallel = 0;
  Follower follower(job_);
  EXPECT_THAT(DoUpdate(*job_, WideJob(), 1),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("from_step: 1 is not accepted; accepted: 2 to 5")));
  EXPECT_THAT(DoUpdate(*job_, WideJob(), 6),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from_step: 6")));
  EXPECT_THAT(DoUpdate(*job_, narrow),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("140 tokens")));
  EXPECT_THAT(DoUpdate(*job_, renamed),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("streams: ")));
  EXPECT_THAT(DoUpdate(*job_, invalid), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("context_parallel: 0")));
  EXPECT_EQ(Describe(*job_)->epoch, 0U);
  EXPECT_EQ(follower.TakeStep()->step.index, 3U);
}

TEST_F(JobUpdateTest, ADrainedJobGoesOnInItsNewShape) {
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 40}), IsOk());
  Follower follower(job_);
  EXPECT_EQ(follower.TakeAll().size(), 2U);
  ASSERT_THAT(DoUpdate(*job_, WideJob(), 3), IsOk());
  EXPECT_THAT(follower.TakeEnd(), StatusIs(absl::StatusCode::kAborted, HasSubstr("1")));
  SubscribeRequest request;
  request.from_step = 3;
  EXPECT_EQ(Follower(job_, request).TakeAll().size(), 1U);
}

// A mark of rank 1 that was sent before it knew of an update.
class MarkDuringUpdateTest : public JobUpdateTest {
 protected:
  void SetUp() override {
    JobUpdateTest::SetUp();
    SubscribeRequest request;
    request.dp_rank = 1;
    request.sends_durable = true;
    follower_.emplace(job_, request);
  }
  // Returns while the update is being committed.
  void BeginUpdate(const JobSpec& spec) {
    room_.store().Block();
    job_->Change(UpdateJob{2, spec}, updated_);
    room_.store().WaitUntilBlocked();
  }
  Awaited<absl::Status> Mark(uint64_t step) {
    Awaited<absl::Status> marked;
    job_->MarkDurable(follower_->subscription(), step, 0, marked);
    return marked;
  }
  static void ExpectEpochEnded(const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                                 HasSubstr("the job is in epoch 1")));
    EXPECT_EQ(DetailOf(status).reason, "EPOCH_ENDED");
  }

  std::optional<Follower> follower_;
  Awaited<absl::StatusOr<JobStatus>> updated_;
};

TEST_F(MarkDuringUpdateTest, OfAStepThatIsWithdrawnItIsToldTheNewEpoch) {
  // Of three steps' documents one is formed anew.
  BeginUpdate(WideJob());
  const auto formed_anew = Mark(2);
  const auto withdrawn = Mark(4);
  EXPECT_FALSE(formed_anew.IsSet());
  EXPECT_FALSE(withdrawn.IsSet());
  room_.store().Release();
  ASSERT_THAT(updated_.Get(), IsOk());
  for (const absl::Status& status : {formed_anew.Get(), withdrawn.Get()}) {
    ExpectEpochEnded(status);
    EXPECT_EQ(DetailOf(status), WideShapeFrom("2"));
  }
  // And where it comes before the follower has heard of it.
  ExpectEpochEnded(Mark(4).Get());
}

TEST_F(MarkDuringUpdateTest, OfARankThatIsGoneItIsToldTheNewEpoch) {
  JobSpec narrow = SmallJob();
  narrow.data_parallel = 1;
  BeginUpdate(narrow);
  const auto marked = Mark(1);
  room_.store().Release();
  ExpectEpochEnded(marked.Get());
}

TEST_F(MarkDuringUpdateTest, WhereTheUpdateFailsItMayBeSentAgain) {
  BeginUpdate(WideJob());
  const auto marked = Mark(4);
  room_.store().FailCommits(2);
  room_.store().Release();
  EXPECT_THAT(updated_.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_THAT(marked.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("an earlier one failed")));
  EXPECT_THAT(Mark(4).Get(), IsOk());
}

}  // namespace
}  // namespace evenpack
