#include "server/control/shown_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/server/sessions/made_steps.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MakeSteps;
using testing::NullSubscriber;
using ::testing::SizeIs;
using testing::SmallSpec;
using testing::StatusIs;

class ShownJobTest : public ::testing::Test {
 protected:
  static JobChange Creation(uint64_t epoch = 0, uint64_t from_step = 0) {
    JobChange change;
    change.reshape = {
        from_step, std::make_shared<const JobSpec>(SmallSpec()), epoch, {0, 0}};
    return change;
  }
  static JobChange Steps(uint64_t first, uint64_t count) {
    JobChange change;
    for (auto& step : MakeSteps(first, count)) {
      change.steps.emplace_back().step = std::move(step);
    }
    return change;
  }
  static JobChange Marks(uint32_t dp_rank, uint64_t steps, uint64_t oldest_step) {
    JobChange change;
    change.marked = {dp_rank, steps};
    change.oldest_step = oldest_step;
    return change;
  }
  std::shared_ptr<Subscription> Subscribe(uint32_t dp_rank = 0) {
    SubscribeRequest request;
    request.dp_rank = dp_rank;
    ShownJob::Subscribers woken;
    return job_.Subscribe(request, std::make_shared<NullSubscriber>(), {}, {}, woken)
        .value()
        .subscription;
  }

  ShownJob job_{"job"};
};

TEST_F(ShownJobTest, AJobThatIsNotCreatedOrIsRemovedIsNotFound) {
  const auto refuses = [this] {
    EXPECT_FALSE(job_.IsShown());
    ShownJob::Subscribers woken;
    for (const absl::Status& status :
         {job_.FindStep(0).status(), job_.DurableStepsOf(0).status(),
          job_.StepsOf({}).status(), job_.CheckSeat({0, 1, 0, "a"}),
          job_.Subscribe({}, std::make_shared<NullSubscriber>(), {}, {}, woken)
              .status()}) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
      EXPECT_EQ(DetailOf(status).reason, "JOB_NOT_FOUND");
    }
  };
  refuses();
  EXPECT_THAT(job_.TakeWoken(), IsEmpty());
  job_.Show(Creation());
  EXPECT_TRUE(job_.IsShown());
  JobChange removal;
  removal.removed = true;
  job_.Show(removal);
  refuses();
}

TEST_F(ShownJobTest, OtherCostsEndNoSubscriptionAndTakeNoStepBack) {
  job_.Show(Creation());
  job_.Show(Steps(0, 2));
  const auto subscription = Subscribe();
  JobChange change;
  change.recosted = std::make_shared<const JobSpec>(SmallSpec());
  job_.Show(change);
  EXPECT_EQ(job_.spec(), change.recosted);
  EXPECT_THAT(job_.FindStep(1), IsOk());
  EXPECT_TRUE(std::holds_alternative<SendStep>(job_.Next(*subscription)));
  JobChange removal;
  removal.removed = true;
  job_.Show(removal);
  EXPECT_EQ(job_.spec(), nullptr);
}

TEST_F(ShownJobTest, StepsAreFoundFromTheirCommitUntilTheyAreLetGo) {
  job_.Show(Creation());
  EXPECT_THAT(job_.FindStep(0),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("0")));
  job_.Show(Steps(0, 3));
  EXPECT_EQ((*job_.FindStep(2))->step.index, 2U);
  job_.Show(Marks(0, 2, 0));
  job_.Show(Marks(1, 3, 2));
  EXPECT_THAT(job_.FindStep(1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("2")));
  EXPECT_THAT(job_.FindStep(2), IsOk());
  EXPECT_EQ(job_.DurableStepsOf(0).value(), 2U);
  EXPECT_EQ(job_.DurableStepsOf(1).value(), 3U);
  EXPECT_THAT(job_.DurableStepsOf(2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("0 to 1")));
}

TEST_F(ShownJobTest, ASubscriberThatWaitsIsWokenOnceForManySteps) {
  job_.Show(Creation());
  const auto subscription = Subscribe();
  EXPECT_TRUE(std::holds_alternative<NothingYet>(job_.Next(*subscription)));
  EXPECT_THAT(job_.TakeWoken(), IsEmpty());
  job_.Show(Steps(0, 2));
  EXPECT_THAT(job_.TakeWoken(), SizeIs(1));
  EXPECT_THAT(job_.TakeWoken(), IsEmpty());
  EXPECT_EQ(std::get<SendStep>(job_.Next(*subscription)).step->step.index, 0U);
  EXPECT_EQ(std::get<SendStep>(job_.Next(*subscription)).step->step.index, 1U);
  EXPECT_EQ(job_.Received(*subscription, 1, {}).value(), nullptr);
  EXPECT_THAT(job_.Received(*subscription, 2, {}).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step 2")));
}

TEST_F(ShownJobTest, AMarkIsToldAsItIsShown) {
  job_.Show(Creation());
  job_.Show(Steps(0, 1));
  const auto subscription = Subscribe(1);
  while (!std::holds_alternative<NothingYet>(job_.Next(*subscription))) {
  }
  job_.Show(Marks(1, 1, 0));
  EXPECT_NE(job_.TellMarked(*subscription), nullptr);
  EXPECT_EQ(std::get<SendMarked>(job_.Next(*subscription)).durable_steps, 1U);
}

TEST_F(ShownJobTest, ANewShapeEndsSubscriptionsAndWithdrawsSteps) {
  job_.Show(Creation());
  job_.Show(Steps(0, 3));
  job_.Show(Marks(0, 1, 0));
  const auto subscription = Subscribe();
  job_.Show(Creation(1, 2));
  EXPECT_THAT(std::get<EndCall>(job_.Next(*subscription)).status,
              StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch")));
  EXPECT_THAT(job_.FindStep(1), IsOk());
  EXPECT_FALSE(job_.FindStep(2).ok());
  // What one rank alone had made durable is durable for none.
  EXPECT_EQ(job_.DurableStepsOf(0).value(), 0U);
}

TEST_F(ShownJobTest, ARestoredJobBeginsWhereItsCheckpointWas) {
  JobChange change = Creation();
  const Digest128 digest = MakeSteps(0, 4).back()->step.digest;
  change.reshape->durable = {4, 4};
  change.restored = {4, digest};
  change.oldest_step = 4;
  job_.Show(change);
  EXPECT_FALSE(job_.FindStep(3).ok());
  EXPECT_EQ(job_.DurableStepsOf(1).value(), 4U);
  SubscribeRequest request;
  request.from_step = 4;
  request.last_digest = digest;
  ShownJob::Subscribers woken;
  const auto subscribed =
      job_.Subscribe(request, std::make_shared<NullSubscriber>(), {}, {}, woken);
  ASSERT_THAT(subscribed, IsOk());
  EXPECT_EQ(subscribed->from_step, 4U);
  EXPECT_EQ(subscribed->previous_digest, digest);
}

TEST_F(ShownJobTest, ARemovalEndsSubscriptions) {
  job_.Show(Creation());
  const auto subscription = Subscribe();
  EXPECT_EQ(job_.subscribers(), 1U);
  JobChange removal;
  removal.removed = true;
  job_.Show(removal);
  EXPECT_THAT(std::get<EndCall>(job_.Next(*subscription)).status,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'job'")));
  job_.Unsubscribe(*subscription);
  EXPECT_EQ(job_.subscribers(), 0U);
}

TEST_F(ShownJobTest, ARemovedJobKeepsNoStepForWhoStillHasIt) {
  job_.Show(Creation());
  job_.Show(Steps(0, 3));
  const auto subscription = Subscribe();
  const std::weak_ptr<const PublishedStep> step = *job_.FindStep(2);
  JobChange removal;
  removal.removed = true;
  job_.Show(removal);
  EXPECT_TRUE(step.expired());
  JobFigures figures;
  job_.AddTo(figures);
  EXPECT_EQ(figures.kept_steps, 0U);
  EXPECT_EQ(figures.next_step, 3U);
  EXPECT_EQ(figures.max_lag_steps, 0U);
  // What was committed meanwhile, where another server has the job.
  job_.Show(Steps(3, 1));
  job_.AddTo(figures);
  EXPECT_EQ(figures.kept_steps, 0U);
}

TEST_F(ShownJobTest, FiguresAreOfWhatIsShown) {
  job_.Show(Creation());
  job_.Show(Steps(0, 5));
  job_.Show(Marks(0, 2, 1));
  const auto subscription = Subscribe();
  JobFigures figures;
  job_.AddTo(figures);
  EXPECT_EQ(figures.next_step, 5U);
  EXPECT_EQ(figures.kept_steps, 4U);
  EXPECT_EQ(figures.subscribers, 1U);
}

TEST_F(ShownJobTest, SeatsAreThoseOfTheShapeNow) {
  job_.Show(Creation());
  const uint32_t ranks = SmallSpec().context_parallel;
  EXPECT_THAT(job_.CheckSeat({1, ranks, ranks - 1, "a"}), IsOk());
  const absl::Status other_size = job_.CheckSeat({0, ranks + 1, 0, "a"});
  EXPECT_THAT(other_size,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cp_size: ")));
  EXPECT_EQ(DetailOf(other_size).reason, "GROUP_SIZE_DIFFERS");
  EXPECT_EQ(RefusedField(job_.CheckSeat({2, ranks, 0, "a"})), "dp_rank");
  EXPECT_EQ(RefusedField(job_.CheckSeat({0, ranks, ranks, "a"})), "cp_rank");
}

}  // namespace
}  // namespace evenpack
