#include "client/cpp/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "client/cpp/error_details.h"
#include "client/cpp/mocks/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::function<double()> kMiddle = [] { return 0.5; };

absl::Status WithReason(absl::Status status) {
  ErrorDetails details;
  details.reason = "SOMETHING";
  return WithDetails(std::move(status), details);
}

absl::Status WithRetry(absl::Status status, std::chrono::nanoseconds delay) {
  ErrorDetails details;
  details.retry_delay = delay;
  return WithDetails(std::move(status), details);
}

TEST(Retry, UnavailableIsRetryableWhateverItSays) {
  EXPECT_TRUE(IsRetryable(absl::UnavailableError("")));
  EXPECT_TRUE(IsRetryable(WithReason(absl::UnavailableError(""))));
}

TEST(Retry, ResourceExhaustedIsRetryableWithADelayAlone) {
  const absl::Status status = absl::ResourceExhaustedError("full");
  EXPECT_FALSE(IsRetryable(status));
  EXPECT_TRUE(IsRetryable(WithRetry(status, std::chrono::seconds(1))));
}

TEST(Retry, AnAttemptWithoutAnAnswerInItsTimeIsRetryable) {
  const absl::Status status = absl::DeadlineExceededError("");
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_FALSE(IsRetryable(WithReason(status)));
}

TEST(Retry, NothingElseIs) {
  for (const auto code : {absl::StatusCode::kOk, absl::StatusCode::kAborted,
                          absl::StatusCode::kInternal, absl::StatusCode::kNotFound}) {
    EXPECT_FALSE(IsRetryable(absl::Status(code, ""))) << static_cast<int>(code);
  }
}

TEST(Retry, AStreamThatTheTransportEndedIsLost) {
  EXPECT_TRUE(IsLostCall(absl::OkStatus()));
  for (const auto code : {absl::StatusCode::kUnavailable, absl::StatusCode::kCancelled,
                          absl::StatusCode::kInternal, absl::StatusCode::kUnknown}) {
    EXPECT_TRUE(IsLostCall(absl::Status(code, ""))) << static_cast<int>(code);
  }
}

TEST(Retry, AStreamThatTheServerRefusedIsNot) {
  for (const auto code : {absl::StatusCode::kCancelled, absl::StatusCode::kInternal,
                          absl::StatusCode::kUnknown}) {
    EXPECT_FALSE(IsLostCall(WithReason(absl::Status(code, ""))))
        << static_cast<int>(code);
  }
  EXPECT_FALSE(IsLostCall(absl::AbortedError("")));
  EXPECT_FALSE(IsLostCall(absl::DataLossError("")));
}

TEST(Retry, WaitsAsTheBackoffSaysButNotLessThanTheServerAsks) {
  FakeClock clock;
  FakeSleeper sleeper(clock);
  Backoff backoff({}, clock, kMiddle);
  EXPECT_TRUE(WaitToRetry(absl::UnavailableError(""), backoff, sleeper, {}));
  EXPECT_TRUE(
      WaitToRetry(WithRetry(absl::UnavailableError(""), std::chrono::seconds(3)),
                  backoff, sleeper, {}));
  EXPECT_THAT(sleeper.slept(),
              ElementsAre(std::chrono::milliseconds(100), std::chrono::seconds(3)));
}

TEST(Retry, DoesNotWaitWhereTheFirstFailureNamesTheLeader) {
  ErrorDetails details;
  details.reason = "LED_ELSEWHERE";
  details.metadata = {{"job", "run"}, {"address", "b:1"}};
  const absl::Status moved = WithDetails(absl::UnavailableError(""), details);
  FakeClock clock;
  FakeSleeper sleeper(clock);
  Backoff backoff({}, clock, kMiddle);
  EXPECT_TRUE(WaitToRetry(moved, backoff, sleeper, {}));
  EXPECT_THAT(sleeper.slept(), ElementsAre());
  // Who is named a second time isn't the leader either.
  EXPECT_TRUE(WaitToRetry(moved, backoff, sleeper, {}));
  EXPECT_THAT(sleeper.slept(), ElementsAre(std::chrono::milliseconds(160)));
}

TEST(Retry, TellsOfWhatItWaitsFor) {
  ErrorDetails details;
  details.reason = "LED_ELSEWHERE";
  details.metadata = {{"job", "run"}, {"address", "b:1"}};
  FakeClock clock;
  FakeSleeper sleeper(clock);
  BackoffOptions options;
  options.total = std::chrono::milliseconds(200);
  std::vector<absl::Status> told;
  Backoff backoff(options, clock, kMiddle,
                  {"it", [&told](const RetryNews& news) { told.push_back(news.why); }});
  const auto moved = WithDetails(absl::UnavailableError("moved"), details);
  WaitToRetry(moved, backoff, sleeper, {});
  WaitToRetry(absl::NotFoundError("none yet"), backoff, sleeper, {});
  WaitToRetry(absl::OkStatus(), backoff, sleeper, {});
  // Nothing follows.
  EXPECT_FALSE(WaitToRetry(absl::UnavailableError("last"), backoff, sleeper, {}));
  EXPECT_THAT(told, ElementsAre(StatusIs(absl::StatusCode::kNotFound, "none yet"),
                                StatusIs(absl::StatusCode::kUnavailable,
                                         "the server ended the call")));
}

TEST(Retry, DoesNotWaitOnceStopped) {
  FakeClock clock;
  FakeSleeper sleeper(clock);
  Backoff backoff({}, clock, kMiddle);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(
      WaitToRetry(absl::UnavailableError(""), backoff, sleeper, stop.get_token()));
}

TEST(Retry, TheLastErrorSaysHowOftenItWasTried) {
  FakeClock clock;
  Backoff backoff({}, clock, kMiddle);
  const absl::Status status =
      WithRetry(absl::UnavailableError("draining"), std::chrono::seconds(1));
  backoff.NextDelay();
  EXPECT_EQ(GaveUp(status, backoff), status);
  backoff.NextDelay();
  EXPECT_THAT(GaveUp(status, backoff), StatusIs(absl::StatusCode::kUnavailable,
                                                "draining (gave up after 2 attempts)"));
  EXPECT_EQ(DetailsOf(GaveUp(status, backoff)).retry_delay, std::chrono::seconds(1));
  EXPECT_THAT(GaveUp(absl::OkStatus(), backoff),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ended the call")));
}

}  // namespace
}  // namespace evenpack::client
