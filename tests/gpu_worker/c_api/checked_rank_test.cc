#include "gpu_worker/c_api/checked_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "client/cpp/mocks/mock_connection.h"
#include "evenpack/v1/job.pb.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::MockConnection;
using client::MockConsumer;
using client::RankStep;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;

// A rank that nobody else is in a group with.
class CheckedRankTest : public ::testing::Test {
 protected:
  CheckedRankTest() {
    auto spec = std::make_shared<v1::JobSpec>(history_.spec());
    auto consumer = std::make_unique<NiceMock<MockConsumer>>();
    consumer_ = consumer.get();
    client::Subscription subscription;
    subscription.spec = spec;
    ON_CALL(*consumer_, AwaitSubscription).WillByDefault(Return(subscription));
    EXPECT_CALL(*consumer_, Next)
        .WillOnce(Return(std::optional<RankStep>(
            RankStep::FromMessage(history_.Step(0).step(), spec).value())))
        .WillRepeatedly(Return(std::nullopt));
    EXPECT_CALL(*connection_, OpenConsumer)
        .WillOnce(Return(::testing::ByMove(std::move(consumer))));
    EXPECT_CALL(*connection_, JoinGroup).WillOnce([](const auto&) {
      auto member = std::make_unique<NiceMock<client::MockGroupMember>>();
      ON_CALL(*member, Next)
          .WillByDefault(Return(absl::AbortedError("the seat was taken")));
      return member;
    });
    RankWorkerOptions options;
    options.steps.job = "run";
    options.steps.cp_rank = 1;
    options.member = "a";
    rank_ =
        CheckedRank::Open(client::Client(connection_), options, OnProcessor(1).value())
            .value();
  }

  const TestHistory history_{1};
  const std::shared_ptr<NiceMock<MockConnection>> connection_ =
      std::make_shared<NiceMock<MockConnection>>();
  MockConsumer* consumer_ = nullptr;
  std::unique_ptr<CheckedRank> rank_;
};

TEST_F(CheckedRankTest, NothingCanBeDoneWithAStepThatIsNotThere) {
  EXPECT_EQ(rank_->cp_size(), 2U);
  for (const absl::Status& status :
       {rank_->BeginStep(), rank_->MicroBatch(0).status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "there is no step; accepted: after next_step has "
                                 "given one"));
  }
}

TEST_F(CheckedRankTest, WhatBelongsToAStepIsRefusedBeforeItHasBegun) {
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  EXPECT_THAT(rank_->Forward(0, {}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "forward: no step has begun; accepted: after begin_step"));
  EXPECT_THAT(
      rank_->Backward(0, {}, nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("backward: no")));
  EXPECT_THAT(rank_->EndStep(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("end_step: no")));
  EXPECT_THAT(rank_->Abandon("why"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              HasSubstr("abandon: no")));
}

TEST_F(CheckedRankTest, AStepThatCouldNotBeginHasNot) {
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  EXPECT_THAT(rank_->BeginStep(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "the seat was taken"));
  EXPECT_THAT(rank_->EndStep(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no step")));
}

TEST_F(CheckedRankTest, ADrainedJobHasNoFurtherStep) {
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  EXPECT_THAT(rank_->MicroBatch(0), IsOk());
  EXPECT_THAT(rank_->MicroBatch(2).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "micro_batch: 2 is not accepted; accepted: 0 to 1"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rank_->NextStep().value(), nullptr);
  EXPECT_THAT(rank_->MicroBatch(0).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no step")));
}

// The consumer has handed them out ahead.
TEST_F(CheckedRankTest, StepsThatHaveNotEndedAreNotDurable) {
  EXPECT_CALL(*consumer_, AcknowledgeDurable).Times(0);
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  EXPECT_THAT(rank_->AcknowledgeDurable(0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "step: 0 is not accepted; accepted: none: no step has ended"));
}

TEST_F(CheckedRankTest, ClosingWaitsForTheMarks) {
  EXPECT_CALL(*consumer_, Close)
      .WillOnce(Return(absl::UnavailableError("the server is away")));
  EXPECT_THAT(rank_->Close(),
              StatusIs(absl::StatusCode::kUnavailable, "the server is away"));
}

TEST_F(CheckedRankTest, ACancelledRankSaysSoFromThenOn) {
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  rank_->Cancel();
  for (const absl::Status& status :
       {rank_->NextStep().status(), rank_->BeginStep(), rank_->Forward(0, {}, nullptr),
        rank_->Backward(0, {}, nullptr), rank_->EndStep(), rank_->AcknowledgeDurable(0),
        rank_->Close()}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kCancelled, "the worker was cancelled"));
  }
}

TEST_F(CheckedRankTest, AClosedRankCanOnlyBeDestroyed) {
  ASSERT_NE(rank_->NextStep().value(), nullptr);
  EXPECT_CALL(*consumer_, Close)
      .WillOnce(Return(absl::UnavailableError("the server is away")));
  EXPECT_THAT(rank_->Close(), StatusIs(absl::StatusCode::kUnavailable, _));
  rank_->Cancel();
  for (const absl::Status& status :
       {rank_->NextStep().status(), rank_->MicroBatch(0).status(), rank_->BeginStep(),
        rank_->Forward(0, {}, nullptr), rank_->Backward(0, {}, nullptr),
        rank_->EndStep(), rank_->Abandon("why"), rank_->AcknowledgeDurable(0),
        rank_->Close()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 "the worker was closed; accepted: to destroy it"));
  }
}

}  // namespace
}  // namespace evenpack::worker
