// A server that is away, as a trainer with steps in store sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/cpp/consumer_fixture.h"
#include "tests/client/cpp/simulated_server.h"
#include "tests/client/cpp/trainer_time.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::ConsumerFixture;
using ::evenpack::testing::FakeStepCall;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::SimulatedServer;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using ::evenpack::testing::TrainerTime;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Status kLost = absl::UnavailableError("connection reset");

uint64_t MemoryOf(const TestHistory& history, uint64_t index) {
  return RankStep::FromMessage(history.Step(index).step(),
                               std::make_shared<const v1::JobSpec>())
      ->memory_bytes();
}

// An hour of a trainer that takes a step a second, with a checkpoint every minute.
class TrainerHourTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kHour = 3600;
  static constexpr uint64_t kGone = 15 * 60;
  static constexpr uint64_t kBack = 45 * 60;
  static constexpr uint64_t kCushion = 1900;

  TrainerHourTest() {
    client_options_.clock = time_.get();
    client_options_.sleeper = time_;
    options_.job = "run";
    options_.sends_durable = true;
    options_.report_interval = milliseconds(0);
    // Step 2 has as many documents as any.
    options_.max_buffered_bytes = kCushion * MemoryOf(history_, 2);
  }

  // The client has all that it may have, or sleeps.
  void Settle() const {
    while (!server_->HasNothingToSend() && !time_->SomebodySleeps()) {
      std::this_thread::yield();
    }
  }

  void TakeStep(Consumer& consumer, uint64_t index) {
    ASSERT_GT(consumer.buffered_steps(), 0U) << "the trainer waits for step " << index;
    const auto step = consumer.Next();
    ASSERT_THAT(step, IsOk());
    ASSERT_EQ((*step)->index(), index);
    ASSERT_EQ((*step)->digest(), history_.DigestBefore(index + 1));
    if (index % 60 == 59) {
      ASSERT_THAT(consumer.AcknowledgeDurable(index), IsOk());
    }
    time_->Advance(seconds(1));
  }

  const TestHistory history_{kHour + 2 * kCushion};
  const std::shared_ptr<TrainerTime> time_ = std::make_shared<TrainerTime>();
  const std::shared_ptr<SimulatedServer> server_ =
      std::make_shared<SimulatedServer>(history_);
  ClientOptions client_options_;
  ConsumerOptions options_;
};

TEST_F(TrainerHourTest, AServerThatIsGoneForHalfOfItCostsNoWait) {
  client_options_.random = [] { return 0.9; };
  ConsumerSession consumer(server_, client_options_, options_);
  size_t fewest = kHour;
  for (uint64_t second = 0; second < kHour; ++second) {
    if (second == kGone) server_->GoAway();
    if (second == kBack) server_->ComeBack();
    // While the buffer is full nobody reconnects.
    const bool is_full = second >= kGone && second < kGone + 10;
    if (!is_full) Settle();
    fewest = std::min(fewest, consumer.buffered_steps());
    TakeStep(consumer, second);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(consumer.step_wait().seconds, 0);
  EXPECT_EQ(consumer.step_wait().steps_taken, kHour);
  // It lived on what it had, and has got it back.
  EXPECT_LT(fewest, kCushion / 2);
  Settle();
  EXPECT_GE(consumer.buffered_steps(), kCushion);
  EXPECT_THAT(consumer.Close(), IsOk());
  EXPECT_EQ(server_->durable_steps(), kHour);
  // It never stopped trying, at most 12 seconds apart.
  EXPECT_GE(server_->refused_connections(), 1800U / 12);
  // The call after that went on with the digest of the last step that came.
  EXPECT_EQ(server_->subscribed(), 2U);
  EXPECT_EQ(server_->refused_histories(), 0U);
}

TEST_F(TrainerHourTest, TheCushionIsAsManyStepsAsTheMemoryHolds) {
  ConsumerSession consumer(server_, client_options_, options_);
  while (!server_->HasNothingToSend()) std::this_thread::yield();
  uint64_t bytes = 0;
  for (uint64_t index = 0; index < consumer.buffered_steps(); ++index) {
    bytes += MemoryOf(history_, index);
  }
  EXPECT_LE(bytes, options_.max_buffered_bytes);
  EXPECT_GT(bytes, options_.max_buffered_bytes - 2 * MemoryOf(history_, 2));
  EXPECT_EQ(consumer.buffered_steps(), server_->sent());
}

class ConsumerOutageTest : public ConsumerFixture {
 protected:
  // Every attempt fails while a trainer does something.
  template <typename Trainer>
  void RefuseDuring(const Trainer& trainer) {
    std::atomic<bool> done = false;
    std::thread thread([&] {
      trainer();
      done = true;
    });
    while (!done) {
      if (stub_->step_calls() != 0) stub_->AwaitStepCall()->End(kLost);
      std::this_thread::yield();
    }
    thread.join();
  }
};

TEST_F(ConsumerOutageTest, AServerThatComesBackAfterAlmostTenMinutesIsFound) {
  for (const double drawn : {0.0, 0.5, 0.999}) {
    client_options_.random = [drawn] { return drawn; };
    const auto consumer = Open();
    Accept(0)->End(kLost);
    const Clock::TimePoint gone = clock_.Now();
    std::shared_ptr<FakeStepCall> call = stub_->AwaitStepCall();
    while (clock_.Now() - gone < minutes(10) - seconds(1)) {
      call->End(kLost);
      call = stub_->AwaitStepCall();
    }
    call->Send(history_.Subscribed(0));
    call->Send(history_.Step(0));
    EXPECT_EQ(NextIndex(*consumer), 0U);
  }
}

TEST_F(ConsumerOutageTest, AServerThatStaysAwayIsGivenUpAfterTenMinutes) {
  const auto consumer = Open();
  const auto call = Accept(0);
  const Clock::TimePoint gone = clock_.Now();
  call->End(kLost);
  RefuseDuring([&consumer] {
    EXPECT_THAT(consumer->Next(),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("connection reset (gave up after")));
  });
  EXPECT_EQ(SecondsBetween(gone, clock_.Now()), 600);
}

TEST_F(ConsumerOutageTest, WhoeverAsksIsToldOfEachCallThatIsLostAndThatItGoesOn) {
  std::vector<std::string> told;
  client_options_.on_retry = [&told](const RetryNews& news) {
    told.push_back(absl::StrCat(news.what, ": ", news.why.message()));
  };
  const auto consumer = Open();
  for (int i = 0; i < 2; ++i) stub_->AwaitStepCall()->End(kLost);
  const auto call = Accept(0);
  call->Send(history_.Step(0));
  EXPECT_TRUE(consumer->Next()->has_value());
  call->End(absl::NotFoundError("no such job"));
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kNotFound, "no such job"));
  const std::string what = "following job 'run' as DP rank 0: ";
  EXPECT_THAT(told,
              ElementsAre(what + "connection reset", what + "connection reset", what));
}

TEST_F(ConsumerOutageTest, AServerThatSendsNoStepIsGivenUp) {
  client_options_.backoff.total = milliseconds(300);
  const auto consumer = Open();
  for (int i = 0; i < 4; ++i) Accept(0)->End(kLost);
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("gave up after 4 attempts")));
}

TEST_F(ConsumerOutageTest, TheTimeCountsFromWhenThereIsNoStepLeft) {
  client_options_.backoff.total = milliseconds(300);
  const auto consumer = Open();
  const auto call = Accept(0);
  for (const uint64_t index : {0U, 1U}) call->Send(history_.Step(index));
  call->End(kLost);
  // Far more than the total.
  for (int i = 0; i < 20; ++i) stub_->AwaitStepCall()->End(kLost);
  auto attempt = stub_->AwaitStepCall();
  EXPECT_EQ(NextIndex(*consumer), 0U);
  EXPECT_EQ(NextIndex(*consumer), 1U);
  attempt->End(kLost);
  EXPECT_THAT(consumer->Next(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("gave up after 22 attempts")));
}

TEST_F(ConsumerOutageTest, StepsThatNobodyWillTakeDoNotKeepACloseWaiting) {
  client_options_.backoff.total = milliseconds(300);
  options_.sends_durable = true;
  const auto consumer = Open();
  const auto call = Accept(0);
  for (const uint64_t index : {0U, 1U}) call->Send(history_.Step(index));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  EXPECT_THAT(consumer->AcknowledgeDurable(0), IsOk());
  call->End(kLost);
  RefuseDuring([&consumer] {
    EXPECT_THAT(consumer->Close(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gave up")));
  });
}

TEST_F(ConsumerOutageTest, AStepThatBothCallsBringIsHandedOutOnce) {
  const auto consumer = Open();
  auto call = Accept(0);
  for (const uint64_t index : {0U, 1U, 2U}) call->Send(history_.Step(index));
  EXPECT_EQ(NextIndex(*consumer), 0U);
  while (consumer->buffered_steps() != 2) std::this_thread::yield();
  call->End(kLost);
  call = Accept(3);
  // Of a server that sends from before the step that was asked for.
  for (const uint64_t index : {1U, 2U, 3U}) call->Send(history_.Step(index));
  for (const uint64_t index : {1U, 2U, 3U}) EXPECT_EQ(NextIndex(*consumer), index);
  EXPECT_EQ(consumer->step_wait().steps_taken, 4U);
  EXPECT_EQ(consumer->buffered_steps(), 0U);
}

}  // namespace
}  // namespace evenpack::client
