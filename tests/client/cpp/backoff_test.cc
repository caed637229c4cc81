#include "client/cpp/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/mocks/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::function<double()> kMiddle = [] { return 0.5; };

int64_t Milliseconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

// The waits until there is none, each taken.
std::vector<int64_t> Waits(Backoff& backoff, FakeClock& clock) {
  std::vector<int64_t> waits;
  while (const auto delay = backoff.NextDelay()) {
    waits.push_back(Milliseconds(*delay));
    clock.Advance(*delay);
  }
  return waits;
}

TEST(Backoff, GrowsByTheFactorUpToTheMaximum) {
  FakeClock clock;
  Backoff backoff({}, clock, kMiddle);
  std::vector<int64_t> waits = Waits(backoff, clock);
  waits.resize(13);
  EXPECT_EQ(waits, (std::vector<int64_t>{100, 160, 256, 409, 655, 1048, 1677, 2684,
                                         4294, 6871, 10000, 10000, 10000}));
}

TEST(Backoff, TheLastAttemptIsTenMinutesAfterTheFirstUnlessToldOtherwise) {
  for (const double drawn : {0.0, 0.5, 0.999}) {
    FakeClock clock;
    const Clock::TimePoint start = clock.Now();
    const std::function<double()> random = [drawn] { return drawn; };
    Backoff backoff({}, clock, random);
    Waits(backoff, clock);
    EXPECT_EQ(SecondsBetween(start, clock.Now()), 600);
  }
}

TEST(Backoff, TheTotalCanBeStartedAnewWhileWaitsGoOnGrowing) {
  FakeClock clock;
  BackoffOptions options;
  options.total = milliseconds(400);
  Backoff backoff(options, clock, kMiddle);
  std::vector<int64_t> waits;
  for (int i = 0; i < 4; ++i) {
    waits.push_back(Milliseconds(*backoff.NextDelay()));
    clock.Advance(milliseconds(waits.back()));
    backoff.RestartTotal();
  }
  EXPECT_EQ(waits, (std::vector<int64_t>{100, 160, 256, 400}));
  EXPECT_EQ(Waits(backoff, clock), (std::vector<int64_t>{400}));
  EXPECT_EQ(backoff.failures(), 6);
}

TEST(Backoff, APauseThatTheServerAsksForIsNotCutShort) {
  FakeClock clock;
  BackoffOptions options;
  options.total = milliseconds(400);
  Backoff backoff(options, clock, kMiddle);
  EXPECT_EQ(Milliseconds(*backoff.NextDelay(milliseconds(400))), 400);
  clock.Advance(milliseconds(1));
  EXPECT_EQ(backoff.NextDelay(milliseconds(400)), std::nullopt);
}

TEST(Backoff, JitterIsAShareOfTheWaitBothWays) {
  FakeClock clock;
  const std::function<double()> least = [] { return 0.0; };
  const std::function<double()> most = [] { return 0.999; };
  EXPECT_EQ(Milliseconds(*Backoff({}, clock, least).NextDelay()), 80);
  EXPECT_EQ(Milliseconds(*Backoff({}, clock, most).NextDelay()), 119);
}

TEST(Backoff, WaitsAtLeastAsLongAsTheServerAsks) {
  FakeClock clock;
  Backoff backoff({}, clock, kMiddle);
  EXPECT_EQ(Milliseconds(*backoff.NextDelay(milliseconds(700))), 700);
  EXPECT_EQ(Milliseconds(*backoff.NextDelay(milliseconds(20))), 160);
}

TEST(Backoff, ASuccessStartsANewRow) {
  FakeClock clock;
  Backoff backoff({}, clock, kMiddle);
  backoff.NextDelay();
  backoff.NextDelay();
  EXPECT_EQ(backoff.failures(), 2);
  clock.Advance(std::chrono::hours(1));
  backoff.Reset();
  EXPECT_EQ(Milliseconds(*backoff.NextDelay()), 100);
  EXPECT_EQ(backoff.failures(), 1);
}

// What of `news` a test compares.
std::string Brief(const RetryNews& news) {
  return absl::StrCat(news.what, " ", news.why.message(), " ",
                      Milliseconds(news.failing), " ", Milliseconds(news.left));
}

TEST(Backoff, TellsOfFailuresAndOfTheSuccessBehindThem) {
  FakeClock clock;
  std::vector<std::string> told;
  BackoffOptions options;
  options.total = milliseconds(1000);
  Backoff backoff(options, clock, kMiddle, {"it", [&told](const RetryNews& news) {
                                              told.push_back(Brief(news));
                                            }});
  for (int i = 0; i < 2; ++i) {
    backoff.NextDelay();
    backoff.Tell(absl::UnavailableError("lost"));
    clock.Advance(milliseconds(100));
  }
  // A trainer had steps until now.
  backoff.RestartTotal();
  clock.Advance(milliseconds(10));
  backoff.NextDelay();
  backoff.Tell(absl::UnavailableError("lost"));
  clock.Advance(milliseconds(5000));
  backoff.Succeeded();
  EXPECT_THAT(told, ElementsAre("it lost 0 1000", "it lost 100 900", "it lost 210 990",
                                "it  210 0"));
}

TEST(Backoff, TellsOfNoSuccessWhereNoFailureWasTold) {
  FakeClock clock;
  int told = 0;
  Backoff backoff({}, clock, kMiddle, {"it", [&told](const RetryNews&) { ++told; }});
  backoff.Succeeded();
  backoff.NextDelay();
  backoff.Succeeded();
  EXPECT_EQ(backoff.failures(), 0);
  EXPECT_EQ(told, 0);
  backoff.NextDelay();
  backoff.Tell(absl::UnavailableError("lost"));
  backoff.Reset();
  backoff.Succeeded();
  EXPECT_EQ(told, 1);
}

TEST(Backoff, ATotalOfZeroMakesTheFirstFailureFinal) {
  FakeClock clock;
  BackoffOptions options;
  options.total = milliseconds(0);
  EXPECT_EQ(Backoff(options, clock, kMiddle).NextDelay(), std::nullopt);
}

TEST(Backoff, TheLongestWaitsCanBeCounted) {
  FakeClock clock;
  const std::function<double()> most = [] { return 0.999; };
  BackoffOptions options;
  options.initial = options.maximum = options.total = kLongestWait;
  options.factor = std::numeric_limits<double>::max();
  options.jitter = 1;
  EXPECT_THAT(Validate(options), IsOk());
  Backoff backoff(options, clock, most);
  EXPECT_EQ(backoff.NextDelay(), kLongestWait);
  EXPECT_EQ(backoff.NextDelay(), kLongestWait);
}

TEST(Backoff, RefusesOptionsThatCannotBeMeant) {
  EXPECT_THAT(Validate(BackoffOptions{}), IsOk());
  const auto refused = [](auto change) {
    BackoffOptions options;
    change(options);
    return Validate(options);
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refused([](auto& o) { o.initial = milliseconds(0); }),
              StatusIs(code, HasSubstr("backoff.initial: 0 ms")));
  EXPECT_THAT(refused([](auto& o) { o.factor = 0.9; }),
              StatusIs(code, HasSubstr("backoff.factor: 0.9")));
  EXPECT_THAT(refused([](auto& o) { o.maximum = milliseconds(99); }),
              StatusIs(code, HasSubstr("backoff.maximum: 99 ms")));
  // Its nanoseconds are more than can be counted.
  for (const milliseconds longer :
       {kLongestWait + milliseconds(1), milliseconds::max()}) {
    EXPECT_THAT(
        refused([&](auto& o) { o.maximum = longer; }),
        StatusIs(code, HasSubstr("accepted: backoff.initial to 3155760000000 ms")));
    EXPECT_THAT(refused([&](auto& o) { o.total = longer; }),
                StatusIs(code, HasSubstr("accepted: 0 to 3155760000000 ms")));
  }
  EXPECT_THAT(refused([](auto& o) { o.jitter = 1.5; }),
              StatusIs(code, HasSubstr("backoff.jitter: 1.5")));
  EXPECT_THAT(refused([](auto& o) { o.total = milliseconds(-1); }),
              StatusIs(code, HasSubstr("backoff.total: -1 ms")));
}

}  // namespace
}  // namespace evenpack::client
