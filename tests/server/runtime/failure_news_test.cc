#include "server/runtime/failure_news.h"

#include <gtest/gtest.h>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::seconds;
using testing::FakeClock;

constexpr seconds kPause{10};
const absl::Status kFull = absl::ResourceExhaustedError("disk full");
const absl::Status kAway = absl::UnavailableError("database away");

TEST(FailureNewsTest, AFailureIsToldOnceAndItsEndOnce) {
  FakeClock clock;
  FailureNews news(kPause, clock);
  EXPECT_EQ(news.After(absl::OkStatus()), FailureNews::Line::kNone);
  EXPECT_EQ(news.After(kFull), FailureNews::Line::kFailed);
  clock.Advance(seconds(60));
  EXPECT_EQ(news.After(kFull), FailureNews::Line::kNone);
  EXPECT_EQ(news.After(absl::OkStatus()), FailureNews::Line::kSucceedAgain);
  EXPECT_EQ(news.After(absl::OkStatus()), FailureNews::Line::kNone);
  EXPECT_EQ(news.After(kFull), FailureNews::Line::kFailed);
}

TEST(FailureNewsTest, AnotherCauseIsToldOnceThePauseIsOver) {
  FakeClock clock;
  FailureNews news(kPause, clock);
  EXPECT_EQ(news.After(kFull), FailureNews::Line::kFailed);
  clock.Advance(kPause - seconds(1));
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kNone);
  clock.Advance(seconds(1));
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kFailed);
  EXPECT_EQ(news.After(absl::OkStatus()), FailureNews::Line::kSucceedAgain);
}

TEST(FailureNewsTest, WithoutAPauseEachCauseIsToldUntilItIsAnotherOrOver) {
  FakeClock clock;
  FailureNews news(seconds(0), clock);
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kFailed);
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kNone);
  EXPECT_EQ(news.After(kFull), FailureNews::Line::kFailed);
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kFailed);
  EXPECT_EQ(news.After(absl::OkStatus()), FailureNews::Line::kSucceedAgain);
  EXPECT_EQ(news.After(kAway), FailureNews::Line::kFailed);
}

TEST(FailureNewsTest, FailuresThatComeAndGoAreTwoLinesInAPause) {
  FakeClock clock;
  FailureNews news(kPause, clock);
  int lines = 0;
  for (int second = 0; second < 30; ++second) {
    for (const absl::Status& status : {kFull, absl::OkStatus(), kAway}) {
      if (news.After(status) != FailureNews::Line::kNone) ++lines;
    }
    clock.Advance(seconds(1));
  }
  EXPECT_EQ(lines, 6);
}

}  // namespace
}  // namespace evenpack
