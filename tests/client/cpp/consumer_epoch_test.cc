// A job that is reconfigured under a consumer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "server/core/digest/digest_bytes.h"
#include "tests/client/cpp/consumer_fixture.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::ConsumerFixture;
using ::evenpack::testing::FakeStepCall;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ConsumerEpochTest : public ConsumerFixture {
 protected:
  ConsumerEpochTest() { options_.follow_epochs = true; }

  // Steps from..to are sent, and so many of them handed out.
  void Send(FakeStepCall& call, uint64_t from, uint64_t to) {
    for (uint64_t index = from; index <= to; ++index) call.Send(history_.Step(index));
  }

  static absl::Status EpochEnded() {
    return ServerError(absl::StatusCode::kAborted, "epoch: the job is in epoch 1",
                       "EPOCH_ENDED");
  }

  // The same steps as history_ up to step 2, others from there on.
  const TestHistory reconfigured_{24, 1, 3};
};

TEST_F(ConsumerEpochTest, WithoutFollowingItIsAnErrorAtOnce) {
  options_.follow_epochs = false;
  const auto consumer = Open();
  const auto call = Accept(0);
  Send(*call, 0, 1);
  EXPECT_EQ(NextIndex(*consumer), 0U);
  while (consumer->buffered_steps() != 1) std::this_thread::yield();
  EXPECT_THAT(consumer->status(), IsOk());
  call->End(EpochEnded());
  while (consumer->buffered_steps() != 0) std::this_thread::yield();
  EXPECT_EQ(DetailsOf(consumer->status()).reason, "EPOCH_ENDED");
  const absl::Status status = consumer->Next().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch 1")));
  EXPECT_EQ(DetailsOf(status).reason, "EPOCH_ENDED");
}

TEST_F(ConsumerEpochTest, StepsThatWereFetchedAreNotHandedOutOnceTheEpochEnded) {
  options_.follow_epochs = false;
  const auto consumer = Open();
  auto call = Accept(0);
  Send(*call, 0, 5);
  EXPECT_EQ(NextIndex(*consumer), 0U);
  while (consumer->buffered_steps() != 5) std::this_thread::yield();
  // It is told by the call under way, or by the next one, which names the old epoch.
  call->End(absl::UnavailableError("gone"));
  call = stub_->AwaitStepCall();
  EXPECT_EQ(call->AwaitMessage().subscribe().epoch(), 0U);
  ErrorDetails details;
  details.reason = "EPOCH_ENDED";
  details.metadata = {{"epoch", "1"}, {"data_parallel", "4"}};
  call->End(WithDetails(absl::AbortedError("epoch: the job is in epoch 1"), details));
  while (consumer->buffered_steps() != 0) std::this_thread::yield();
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = consumer->Next().status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch 1")));
    EXPECT_EQ(DetailsOf(status).metadata.at("epoch"), "1");
    EXPECT_EQ(DetailsOf(status).metadata.at("data_parallel"), "4");
  }
  EXPECT_EQ(consumer->step_wait().steps_taken, 1U);
}

TEST_F(ConsumerEpochTest, ATrainerThatWaitsIsToldAtOnceThatTheEpochEnded) {
  options_.follow_epochs = false;
  const auto consumer = Open();
  const auto call = Accept(0);
  std::thread trainer([&consumer] {
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kAborted, HasSubstr("epoch 1")));
  });
  call->End(EpochEnded());
  trainer.join();
}

TEST_F(ConsumerEpochTest, FollowingGoesOnBehindTheLastStepHandedOut) {
  const auto consumer = Open();
  auto call = Accept(0);
  Send(*call, 0, 5);
  for (const uint64_t index : {0U, 1U, 2U}) EXPECT_EQ(NextIndex(*consumer), index);
  // Steps 3 to 5 of the old epoch wait here and are withdrawn.
  while (consumer->buffered_steps() != 3) std::this_thread::yield();
  call->End(EpochEnded());
  call = stub_->AwaitStepCall();
  const v1::Subscribe subscribe = call->AwaitMessage().subscribe();
  EXPECT_FALSE(subscribe.has_epoch());
  EXPECT_EQ(subscribe.from_step(), 3U);
  EXPECT_EQ(subscribe.last_digest(), DigestBytes(history_.DigestBefore(3)));
  // Which tells what a digest doesn't: whether step 2 was formed again for other ranks.
  EXPECT_EQ(subscribe.last_epoch(), 0U);
  EXPECT_EQ(consumer->buffered_steps(), 0U);

  call->Send(reconfigured_.Subscribed(3));
  call->Send(reconfigured_.Step(3));
  const auto step = consumer->Next();
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ((*step)->index(), 3U);
  EXPECT_EQ((*step)->epoch(), 1U);
  EXPECT_EQ((*step)->digest(), reconfigured_.DigestBefore(4));
  EXPECT_EQ(consumer->AwaitSubscription()->epoch, 1U);

  // From here on the new epoch is the one that was told.
  call->End(absl::UnavailableError("gone"));
  Accept(4);
  EXPECT_EQ(subscribe_.epoch(), 1U);
  EXPECT_EQ(subscribe_.last_epoch(), 1U);
}

TEST_F(ConsumerEpochTest, AnEpochThatEndedBetweenTwoCallsIsFollowedToo) {
  const auto consumer = Open();
  auto call = Accept(0);
  Send(*call, 0, 3);
  for (const uint64_t index : {0U, 1U, 2U}) EXPECT_EQ(NextIndex(*consumer), index);
  while (consumer->buffered_steps() != 1) std::this_thread::yield();
  call->End(absl::UnavailableError("gone"));
  call = stub_->AwaitStepCall();
  EXPECT_TRUE(call->AwaitMessage().subscribe().has_epoch());
  call->End(EpochEnded());
  call = stub_->AwaitStepCall();
  EXPECT_EQ(call->AwaitMessage().subscribe().from_step(), 3U);
  call->Send(reconfigured_.Subscribed(3));
  call->Send(reconfigured_.Step(3));
  EXPECT_EQ(NextIndex(*consumer), 3U);
}

TEST_F(ConsumerEpochTest, MarksOfOldStepsNameTheirOwnEpoch) {
  options_.sends_durable = true;
  const auto consumer = Open();
  auto call = Accept(0);
  Send(*call, 0, 1);
  for (const uint64_t index : {0U, 1U}) EXPECT_EQ(NextIndex(*consumer), index);
  call->End(EpochEnded());
  call = stub_->AwaitStepCall();
  EXPECT_EQ(call->AwaitMessage().subscribe().from_step(), 2U);
  EXPECT_THAT(consumer->AcknowledgeDurable(1), IsOk());
  call->Send(reconfigured_.Subscribed(2));
  const v1::Durable mark = call->AwaitMessage().durable();
  EXPECT_EQ(mark.step(), 1U);
  EXPECT_EQ(mark.epoch(), 0U);
}

TEST_F(ConsumerEpochTest, AMarkThatTheNewEpochRefusesIsAnError) {
  options_.sends_durable = true;
  const auto consumer = Open();
  const auto call = Accept(0);
  Send(*call, 0, 0);
  EXPECT_EQ(NextIndex(*consumer), 0U);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  ErrorDetails details;
  details.reason = "EPOCH_ENDED";
  details.metadata = {{"epoch", "0"}};
  call->End(WithDetails(absl::AbortedError("step: 0 is of another epoch"), details));
  EXPECT_THAT(consumer->Next(),
              StatusIs(absl::StatusCode::kAborted, "step: 0 is of another epoch"));
}

TEST_F(ConsumerEpochTest, WithNothingHandedOutItBeginsWhereItBegan) {
  const auto consumer = Open();
  auto call = Accept(2);
  Send(*call, 2, 3);
  while (consumer->buffered_steps() != 2) std::this_thread::yield();
  call->End(EpochEnded());
  call = stub_->AwaitStepCall();
  EXPECT_EQ(call->AwaitMessage().subscribe().from_step(), 2U);
  call->Send(reconfigured_.Subscribed(2));
  call->Send(reconfigured_.Step(2));
  EXPECT_EQ(NextIndex(*consumer), 2U);
}

TEST_F(ConsumerEpochTest, AStepOfTheOldEpochIsFoundInTheNew) {
  const auto consumer = Open();
  auto call = Accept(0);
  Send(*call, 0, 5);
  for (const uint64_t index : {0U, 1U, 2U}) EXPECT_EQ(NextIndex(*consumer), index);
  while (consumer->buffered_steps() != 3) std::this_thread::yield();
  call->End(EpochEnded());
  call = stub_->AwaitStepCall();
  call->AwaitMessage();
  call->Send(reconfigured_.Subscribed(3));
  call->Send(reconfigured_.Step(3));
  // A step of the old epoch follows another digest.
  call->Send(history_.Step(4));
  EXPECT_EQ(NextIndex(*consumer), 3U);
  EXPECT_THAT(consumer->Next(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step 4: follows")));
}

class WithdrawnStepsTest : public ConsumerEpochTest {
 protected:
  // Step 3 was handed out, and is another in the new epoch.
  std::shared_ptr<FakeStepCall> EndEpochAfterStepThree(Consumer& consumer) {
    const auto call = Accept(0);
    Send(*call, 0, 3);
    for (const uint64_t index : {0U, 1U, 2U, 3U}) EXPECT_EQ(NextIndex(consumer), index);
    call->End(EpochEnded());
    auto next = stub_->AwaitStepCall();
    EXPECT_EQ(next->AwaitMessage().subscribe().from_step(), 4U);
    return next;
  }

  static void ExpectWithdrawn(const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                                 AllOf(HasSubstr("the job is in epoch 1"),
                                       HasSubstr("go back to a checkpoint"))));
    EXPECT_EQ(DetailsOf(status).reason, "EPOCH_ENDED");
  }
};

TEST_F(WithdrawnStepsTest, TheServersWordForItIsAborted) {
  const auto consumer = Open();
  EndEpochAfterStepThree(*consumer)->End(ServerError(
      absl::StatusCode::kDataLoss, "last_digest: differs", "HISTORY_DIFFERS"));
  ExpectWithdrawn(consumer->Next().status());
}

TEST_F(WithdrawnStepsTest, ADigestThatShowsItIsAborted) {
  const auto consumer = Open();
  EndEpochAfterStepThree(*consumer)->Send(reconfigured_.Subscribed(4));
  ExpectWithdrawn(consumer->Next().status());
}

TEST_F(WithdrawnStepsTest, ARefusalOfTheNewShapeStaysWhatItIs) {
  const auto consumer = Open();
  EndEpochAfterStepThree(*consumer)->End(ServerError(absl::StatusCode::kInvalidArgument,
                                                     "dp_rank: 0", "INVALID_ARGUMENT"));
  EXPECT_THAT(consumer->Next(),
              StatusIs(absl::StatusCode::kInvalidArgument, "dp_rank: 0"));
}

}  // namespace
}  // namespace evenpack::client
