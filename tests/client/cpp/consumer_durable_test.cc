// Durable marks on their way through a consumer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/client/cpp/consumer_fixture.h"

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

class ConsumerDurableTest : public ConsumerFixture {
 protected:
  ConsumerDurableTest() { options_.sends_durable = true; }

  // Hands out the steps from..to.
  void Take(Consumer& consumer, FakeStepCall& call, uint64_t from, uint64_t to) {
    for (uint64_t index = from; index <= to; ++index) {
      call.Send(history_.Step(index));
      EXPECT_EQ(NextIndex(consumer), index);
      EXPECT_EQ(call.AwaitMessage().received().step(), index);
    }
  }

  // The first report is answered when the test says so.
  void HoldReports() {
    options_.report_interval = std::chrono::hours(1);
    client_options_.sleeper = Sleeper::Real();
    EXPECT_CALL(*stub_, ReportLatency)
        .WillOnce([this](const v1::ReportLatencyRequest& request,
                         const auto&) -> absl::StatusOr<v1::ReportLatencyResponse> {
          reported_.set_value(request);
          absl::Status answer = answer_.get_future().get();
          if (!answer.ok()) return answer;
          return v1::ReportLatencyResponse();
        });
  }

  // A latency of the step's, and its mark.
  static void MeasureAndMark(Consumer& consumer, uint64_t step) {
    consumer.ReportLatency({step, 1, 500, 900});
    EXPECT_THAT(consumer.AcknowledgeDurable(step), IsOk());
  }

  // Blocks until the consumer knows it.
  static void AwaitDurable(const Consumer& consumer, uint64_t steps) {
    while (consumer.durable_steps() != steps) std::this_thread::yield();
  }

  // Of the report that is held.
  std::promise<v1::ReportLatencyRequest> reported_;
  std::promise<absl::Status> answer_;
};

TEST_F(ConsumerDurableTest, AMarkIsSentAndConfirmed) {
  const auto consumer = Open();
  const auto call = Accept(4, 4);
  Take(*consumer, *call, 4, 6);
  EXPECT_EQ(consumer->durable_steps(), 4U);
  EXPECT_THAT(consumer->AcknowledgeDurable(5), IsOk());
  const v1::Durable mark = call->AwaitMessage().durable();
  EXPECT_EQ(mark.step(), 5U);
  EXPECT_EQ(mark.epoch(), 0U);
  call->Send(TestHistory::DurableMarked(6));
  AwaitDurable(*consumer, 6);
}

TEST_F(ConsumerDurableTest, AMarkIsSentAgainUntilItIsConfirmed) {
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 2);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  EXPECT_THAT(consumer->AcknowledgeDurable(1), IsOk());
  call->End(kGone);
  call = Accept(3, 1);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 1U);
  call->End(kGone);
  call = Accept(3, 1);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 1U);
  call->Send(TestHistory::DurableMarked(2));
  AwaitDurable(*consumer, 2);
  call->End(kGone);
  call = Accept(3, 2);
  Take(*consumer, *call, 3, 3);
}

TEST_F(ConsumerDurableTest, ASubscriptionMayConfirmAMark) {
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  call->End(kGone);
  call = Accept(1, 1);
  Take(*consumer, *call, 1, 1);
  EXPECT_EQ(consumer->durable_steps(), 1U);
}

TEST_F(ConsumerDurableTest, AMarkReconnectsThoughNoStepHasRoom) {
  options_.max_buffered_steps = 1;
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  call->Send(history_.Step(1));
  call->End(kGone);
  call->AwaitGone();
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  call = Accept(2);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
}

TEST_F(ConsumerDurableTest, ADrainedCallStaysForTheLastMark) {
  const auto consumer = Open();
  const auto call = Accept(22);
  Take(*consumer, *call, 22, 23);
  call->Send(history_.Drained());
  EXPECT_EQ(NextIndex(*consumer), std::nullopt);
  EXPECT_THAT(consumer->AcknowledgeDurable(23), IsOk());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 23U);
  call->Send(TestHistory::DurableMarked(24));
  call->AwaitWritesDone();
  call->End(absl::OkStatus());
  EXPECT_THAT(consumer->Close(), IsOk());
}

TEST_F(ConsumerDurableTest, AMarkAfterADrainedCallWasLostReconnects) {
  const auto consumer = Open();
  auto call = Accept(23);
  Take(*consumer, *call, 23, 23);
  call->Send(history_.Drained());
  EXPECT_EQ(NextIndex(*consumer), std::nullopt);
  call->End(kGone);
  EXPECT_THAT(consumer->AcknowledgeDurable(23), IsOk());
  call = Accept(24);
  EXPECT_EQ(subscribe_.from_step(), 24U);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 23U);
  call->Send(history_.Drained());
  call->Send(TestHistory::DurableMarked(24));
  EXPECT_EQ(NextIndex(*consumer), std::nullopt);
  EXPECT_THAT(consumer->Close(), IsOk());
}

TEST_F(ConsumerDurableTest, ClosingWaitsForTheConfirmation) {
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  std::thread trainer([&consumer] { EXPECT_THAT(consumer->Close(), IsOk()); });
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
  call->Send(TestHistory::DurableMarked(1));
  trainer.join();
  EXPECT_EQ(consumer->durable_steps(), 1U);
  call->AwaitGone();
}

TEST_F(ConsumerDurableTest, ClosingSaysWhyAMarkCannotBeConfirmed) {
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  call->End(ServerError(absl::StatusCode::kAborted, "taken", "CLAIM_TAKEN"));
  EXPECT_THAT(consumer->Close(), StatusIs(absl::StatusCode::kAborted, "taken"));
  EXPECT_THAT(consumer->AcknowledgeDurable(0),
              StatusIs(absl::StatusCode::kAborted, "taken"));
}

TEST_F(ConsumerDurableTest, CancellingEndsAClose) {
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  std::thread trainer([&consumer] {
    EXPECT_THAT(consumer->Close(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
  });
  consumer->Cancel();
  trainer.join();
}

TEST_F(ConsumerDurableTest, MarksThatCannotBeMeantAreRefused) {
  const auto consumer = Open();
  const auto call = Accept(4);
  Take(*consumer, *call, 4, 4);
  call->Send(history_.Step(5));
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(consumer->AcknowledgeDurable(5), StatusIs(code, HasSubstr("step: 5")));
  EXPECT_THAT(consumer->AcknowledgeDurable(3), StatusIs(code, HasSubstr("step: 3")));
}

TEST_F(ConsumerDurableTest, ASubscriberThatSendsNoMarksCannotMark) {
  options_.sends_durable = false;
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("sends_durable: is not set")));
}

TEST_F(ConsumerDurableTest, AServerThatConfirmsNoMarkIsGivenUp) {
  client_options_.backoff.total = milliseconds(300);
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
    call->End(kGone);
    if (i < 3) call = Accept(1);
  }
  EXPECT_THAT(consumer->Close(), StatusIs(absl::StatusCode::kUnavailable,
                                          HasSubstr("gave up after 4 attempts")));
}

TEST_F(ConsumerDurableTest, AConfirmedMarkOrACallThatLastedEndsARowOfFailures) {
  client_options_.backoff.total = milliseconds(300);
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 1);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  EXPECT_THAT(consumer->AcknowledgeDurable(1), IsOk());
  call->End(kGone);
  Accept(2)->End(kGone);
  call = Accept(2);
  call->Send(TestHistory::DurableMarked(1));
  AwaitDurable(*consumer, 1);
  call->End(kGone);
  call = Accept(2, 1);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 1U);
  clock_.Advance(client_options_.backoff.maximum);
  call->End(kGone);
  call = Accept(2, 1);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 1U);
  const milliseconds first(100);
  EXPECT_THAT(sleeper_->slept(), ElementsAre(first, milliseconds(160), first, first));
}

TEST_F(ConsumerDurableTest, AMarkSendsWhatWasMeasuredBeforeTheInterval) {
  options_.report_interval = std::chrono::hours(1);
  client_options_.sleeper = Sleeper::Real();
  std::promise<v1::ReportLatencyRequest> reported;
  EXPECT_CALL(*stub_, ReportLatency)
      .WillOnce([&reported](const v1::ReportLatencyRequest& request, const auto&) {
        reported.set_value(request);
        return v1::ReportLatencyResponse();
      });
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  MeasureAndMark(*consumer, 0);
  std::future<v1::ReportLatencyRequest> report = reported.get_future();
  ASSERT_EQ(report.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(report.get().micro_batches_size(), 1);
}

TEST_F(ConsumerDurableTest, AMarkWaitsForTheReportOfWhatWasMeasured) {
  HoldReports();
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 3);
  MeasureAndMark(*consumer, 3);
  EXPECT_EQ(reported_.get_future().get().micro_batches_size(), 1);
  EXPECT_EQ(call->messages(), 0U);
  EXPECT_EQ(consumer->unconfirmed_mark(), (DurableMarks::Mark{3, 0}));
  answer_.set_value(absl::OkStatus());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 3U);
}

TEST_F(ConsumerDurableTest, AMarkIsSentThoughTheReportBeforeItFailed) {
  HoldReports();
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  MeasureAndMark(*consumer, 0);
  answer_.set_value(absl::DeadlineExceededError("10 s"));
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
}

TEST_F(ConsumerDurableTest, AMarkBehindAReportIsNotSentWithASubscriptionBeforeIt) {
  HoldReports();
  const auto consumer = Open();
  auto call = Accept(0);
  Take(*consumer, *call, 0, 1);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
  MeasureAndMark(*consumer, 1);
  call->End(kGone);
  call = Accept(2);
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
  Take(*consumer, *call, 2, 2);
  answer_.set_value(absl::OkStatus());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 1U);
}

TEST_F(ConsumerDurableTest, ClosingSendsTheReportAndThenTheMark) {
  HoldReports();
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  MeasureAndMark(*consumer, 0);
  std::thread trainer([&consumer] { EXPECT_THAT(consumer->Close(), IsOk()); });
  EXPECT_EQ(reported_.get_future().get().micro_batches_size(), 1);
  EXPECT_EQ(call->messages(), 0U);
  answer_.set_value(absl::OkStatus());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
  call->Send(TestHistory::DurableMarked(1));
  trainer.join();
}

TEST_F(ConsumerDurableTest, AMarkWaitsForNoReportWithoutLatencies) {
  options_.report_interval = std::chrono::hours(1);
  client_options_.sleeper = Sleeper::Real();
  const auto consumer = Open();
  const auto call = Accept(0);
  Take(*consumer, *call, 0, 0);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
}

}  // namespace
}  // namespace evenpack::client
