#include "gpu_worker/rank_worker/prepared_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "client/cpp/mocks/mock_connection.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::MockConsumer;
using client::RankStep;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;

class PreparedStepsTest : public ::testing::Test {
 protected:
  RankStep Step(uint64_t index) const {
    const auto spec = std::make_shared<const v1::JobSpec>(history_.spec());
    return RankStep::FromMessage(history_.Step(index).step(), spec).value();
  }
  // Hands out so many steps, then this.
  void Expect(uint64_t steps, absl::StatusOr<std::optional<RankStep>> last) {
    auto& call = EXPECT_CALL(consumer_, Next);
    for (uint64_t index = 0; index < steps; ++index) {
      call.WillOnce(Return(std::optional<RankStep>(Step(index))));
    }
    call.WillOnce(Return(std::move(last)));
  }

  const TestHistory history_{6};
  // Its job's groups have two ranks.
  const PreparedFor of_{1, 2, {}};
  NiceMock<MockConsumer> consumer_;
};

TEST_F(PreparedStepsTest, AStepIsPreparedAsItsRankExecutesIt) {
  for (uint64_t index = 0; index < history_.size(); ++index) {
    const RankStep step = Step(index);
    const auto prepared = PrepareStep(step, of_);
    ASSERT_THAT(prepared, IsOk());
    EXPECT_EQ(prepared->step.index(), index);
    ASSERT_EQ(prepared->micro_batches.size(), step.micro_batches().size());
    for (size_t i = 0; i < prepared->micro_batches.size(); ++i) {
      const client::MicroBatchView& view = step.micro_batches()[i];
      EXPECT_EQ(prepared->micro_batches[i].index, view.index());
      EXPECT_EQ(prepared->micro_batches[i].held_rows,
                view.rank_tokens()[1] + view.rank_padding()[1]);
    }
  }
}

// An engine may need all keys of a call in one tensor: own ones among those received.
TEST_F(PreparedStepsTest, KeysLieWhereTheEngineNeedsThem) {
  uint64_t copied = 0;
  for (uint64_t index = 0; index < history_.size(); ++index) {
    const auto prepared = PrepareStep(Step(index), {1, 2, {}, KeyPlacement::kTogether});
    const auto apart = PrepareStep(Step(index), of_);
    ASSERT_THAT(prepared, IsOk());
    ASSERT_THAT(apart, IsOk());
    for (size_t i = 0; i < prepared->micro_batches.size(); ++i) {
      copied += prepared->micro_batches[i].layout.received_rows -
                apart->micro_batches[i].layout.received_rows;
    }
  }
  EXPECT_GT(copied, 0U);
}

TEST_F(PreparedStepsTest, AStepForGroupsOfAnotherSizeIsRefused) {
  EXPECT_THAT(
      PrepareStep(Step(3), {1, 4, {}}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("step 3 is for groups of 2 ranks, and this one has 4")));
}

TEST_F(PreparedStepsTest, HandsOutAllStepsAndThenTheEndEachTime) {
  Expect(6, std::optional<RankStep>());
  PreparedSteps steps(consumer_, of_, 2);
  for (uint64_t index = 0; index < 6; ++index) {
    const auto step = steps.Next();
    ASSERT_THAT(step, IsOk());
    EXPECT_EQ((*step)->step.index(), index);
  }
  for (int i = 0; i < 2; ++i) {
    const auto end = steps.Next();
    ASSERT_THAT(end, IsOk());
    EXPECT_FALSE(end->has_value());
  }
}

TEST_F(PreparedStepsTest, AnErrorComesAfterTheStepsBeforeItAndIsFinal) {
  ON_CALL(consumer_, status)
      .WillByDefault(Return(absl::UnavailableError("the server is away")));
  Expect(1, absl::UnavailableError("the server is away"));
  PreparedSteps steps(consumer_, of_, 4);
  EXPECT_THAT(steps.Next(), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(steps.Next().status(),
                StatusIs(absl::StatusCode::kUnavailable, "the server is away"));
  }
}

// They may have been withdrawn. The consumer is not asked for more while as many wait.
TEST_F(PreparedStepsTest, StepsThatWaitAreDroppedOnceTheConsumerIsAborted) {
  for (const size_t ahead : {1U, 4U}) {
    EXPECT_CALL(consumer_, Next)
        .WillRepeatedly(Return(std::optional<RankStep>(Step(0))));
    ON_CALL(consumer_, status).WillByDefault(Return(absl::OkStatus()));
    PreparedSteps steps(consumer_, of_, ahead);
    ASSERT_THAT(steps.Next(), IsOk());
    ON_CALL(consumer_, status)
        .WillByDefault(Return(absl::AbortedError("the epoch has ended")));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(steps.Next().status(),
                  StatusIs(absl::StatusCode::kAborted, "the epoch has ended"));
    }
    EXPECT_EQ(steps.waiting(), 0U);
  }
}

TEST_F(PreparedStepsTest, AJobThatWasDrainedAndThenRewoundHasSteps) {
  Expect(0, std::optional<RankStep>());
  PreparedSteps steps(consumer_, of_, 1);
  ASSERT_FALSE(steps.Next()->has_value());
  ON_CALL(consumer_, status)
      .WillByDefault(Return(absl::AbortedError("the epoch has ended")));
  EXPECT_THAT(steps.Next().status(),
              StatusIs(absl::StatusCode::kAborted, "the epoch has ended"));
}

TEST_F(PreparedStepsTest, CountsStepsThatWaitAndNotTheEnd) {
  Expect(1, std::optional<RankStep>());
  PreparedSteps steps(consumer_, of_, 4);
  EXPECT_LE(steps.waiting(), 1U);
  ASSERT_TRUE(steps.Next()->has_value());
  ASSERT_FALSE(steps.Next()->has_value());
  EXPECT_EQ(steps.waiting(), 0U);
}

TEST_F(PreparedStepsTest, DestroyingItCancelsAConsumerThatHasMore) {
  EXPECT_CALL(consumer_, Next).WillRepeatedly(Return(std::optional<RankStep>(Step(0))));
  EXPECT_CALL(consumer_, Cancel);
  const PreparedSteps steps(consumer_, of_, 1);
}

}  // namespace
}  // namespace evenpack::worker
