// What a job is still good for whose store failed and can't be read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/control/job.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/emitted_documents.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/follower.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoIngest;
using testing::Follower;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

// A job of three steps, whose store refuses the next write and then can't be read.
class UnreadableJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(DoIngest(*job_, 0, StepsOfDocuments(3)), IsOk());
    going_on_.from_step = 1;
    going_on_.last_digest = (*job_->FindStep(0))->step.digest;
    going_on_.epoch = 0;
    room_.store().FailCommits(2);
    room_.store().FailLoads(1000);
  }
  void BreakStore() {
    EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(1)),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  }
  void MendStore() { room_.store().FailLoads(0); }
  // UNAVAILABLE, whatever the request is refused for otherwise.
  void ExpectRefused(const SubscribeRequest& request) {
    const absl::Status status = Follower(job_, request).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("can't be read back after a failure")));
    EXPECT_EQ(DetailOf(status).reason, "STORE_FAILED");
  }

  ControlRoom room_;
  const std::shared_ptr<Job> job_ = room_.MakeJob(SmallJob());
  // As who has step 0.
  SubscribeRequest going_on_;
};

TEST_F(UnreadableJobTest, WhoFollowsItGoesOnAndWaits) {
  Follower follower(job_);
  EXPECT_EQ(follower.TakeStep()->step.index, 0U);
  BreakStore();
  EXPECT_EQ(follower.TakeStep()->step.index, 1U);
  EXPECT_EQ(follower.TakeStep()->step.index, 2U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(follower.Next()));
  MendStore();
  EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 3U);
}

TEST_F(UnreadableJobTest, WhoComesBackGetsWhatIsCommittedAndIsThenToldThatNoMoreComes) {
  BreakStore();
  Follower follower(job_, going_on_);
  ASSERT_THAT(follower.status(), IsOk());
  EXPECT_EQ(follower.TakeStep()->step.index, 1U);
  EXPECT_EQ(follower.TakeStep()->step.index, 2U);
  EXPECT_THAT(follower.TakeEnd(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("the disk is gone")));
  MendStore();
  going_on_.from_step = 3;
  going_on_.last_digest = (*job_->FindStep(2))->step.digest;
  Follower again(job_, going_on_);
  ASSERT_THAT(again.status(), IsOk());
  EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(1)), IsOk());
  EXPECT_EQ(again.TakeStep()->step.index, 3U);
}

TEST_F(UnreadableJobTest, SoIsWhoComesForTheEndOfADrainedJob) {
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 24}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  MendStore();
  ASSERT_THAT(Do(*job_, EndOfStream{"a", 24}), IsOk());
  room_.store().FailCommits(2);
  room_.store().FailLoads(1000);
  ASSERT_FALSE(Do(*job_, Acknowledge{0, 0, 0}).ok());
  EXPECT_EQ(Follower(job_, going_on_).TakeAll().size(), 2U);
}

TEST_F(UnreadableJobTest, NobodyIsToldOfAHistoryThatMayBeAnothersByNow) {
  BreakStore();
  SubscribeRequest has_all = going_on_;
  has_all.from_step = 3;
  has_all.last_digest = (*job_->FindStep(2))->step.digest;
  SubscribeRequest ahead = going_on_;
  ahead.from_step = 4;
  SubscribeRequest of_another_history = going_on_;
  of_another_history.last_digest = Digest128();
  SubscribeRequest of_a_later_epoch = going_on_;
  of_a_later_epoch.epoch = 1;
  SubscribeRequest from_a_number = going_on_;
  from_a_number.last_digest.reset();
  for (const SubscribeRequest& request :
       {has_all, ahead, of_another_history, of_a_later_epoch, from_a_number, {}}) {
    ExpectRefused(request);
  }
  EXPECT_THAT(job_->FindStep(3), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("can't be read back")));
  EXPECT_THAT(job_->CheckSeat({0, 9, 0, "a"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("can't be read")));
}

TEST_F(UnreadableJobTest, ItsStepsAreFoundAndItsGroupsForm) {
  BreakStore();
  EXPECT_EQ((*job_->FindStep(2))->step.index, 2U);
  EXPECT_THAT(job_->CheckSeat({0, 1, 0, "a"}), IsOk());
  EXPECT_THAT(Describe(*job_), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
}

TEST_F(UnreadableJobTest, NobodyWhoOnlyLooksWaitsForAStoreThatHangs) {
  room_.store().FailLoads(0);
  room_.store().BlockLoads();
  const testing::Awaited<absl::Status> refused;
  job_->Submit(EndOfStream{"a", 24}, refused);
  room_.store().WaitUntilLoadBlocked();
  EXPECT_EQ(job_->Figures().next_step, 3U);
  EXPECT_THAT(Describe(*job_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("it is being read")));
  const testing::Awaited<absl::StatusOr<JobObservation>> observed;
  job_->Observe({}, observed);
  EXPECT_FALSE(observed.Get().ok());
  EXPECT_EQ((*job_->FindStep(2))->step.index, 2U);
  // Nor do others, so that they hold no thread.
  EXPECT_THAT(DoIngest(*job_, 24, StepsOfDocuments(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  room_.store().Release();
  EXPECT_THAT(refused.Get(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
}

TEST_F(UnreadableJobTest, WhoOnlyLooksDoesNotReadItBackAndAnotherReadDoes) {
  BreakStore();
  MendStore();
  const int loads = room_.store().loads();
  EXPECT_FALSE(Describe(*job_).ok());
  EXPECT_EQ(job_->Figures().next_step, 3U);
  EXPECT_EQ(room_.store().loads(), loads);
  EXPECT_TRUE(job_->IsToBeRead());
  EXPECT_FALSE(job_->ReadAgain());
  EXPECT_EQ(Describe(*job_)->next_step, 3U);
}

TEST_F(UnreadableJobTest, OneThatIsDamagedOrGoneServesNobodyAnew) {
  MendStore();
  room_.DamageJob();
  BreakStore();
  EXPECT_THAT(Follower(job_, going_on_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  EXPECT_THAT(job_->FindStep(0), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  EXPECT_FALSE(job_->IsToBeRead());
  job_->Abandon();
  EXPECT_THAT(Follower(job_, going_on_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

TEST_F(UnreadableJobTest, OneThatIsDamagedIsNotReadByEachWhoAsks) {
  BreakStore();
  room_.DamageJob();
  MendStore();
  const auto ask = [this] { return DoIngest(*job_, 24, StepsOfDocuments(1)); };
  EXPECT_THAT(ask(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  const int loads = room_.store().loads();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  }
  EXPECT_EQ(room_.store().loads(), loads);
}

TEST_F(UnreadableJobTest, OneThatIsFoundToBeDamagedCanGo) {
  MendStore();
  room_.DamageJob();
  BreakStore();
  EXPECT_THAT(testing::DoRemove(*job_), IsOk());
  EXPECT_THAT(Describe(*job_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
}

}  // namespace
}  // namespace evenpack
