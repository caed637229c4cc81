#include "server/control/commit_news.h"

#include <gtest/gtest.h>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::seconds;
using testing::FakeClock;

const absl::Status kFull = absl::ResourceExhaustedError("disk full");
const absl::Status kAway = absl::UnavailableError("database away");

TEST(CommitNewsTest, AFailureIsToldOnceAndItsEndOnce) {
  FakeClock clock;
  CommitNews news(clock);
  EXPECT_EQ(news.After(absl::OkStatus()), CommitNews::Line::kNone);
  EXPECT_EQ(news.After(kFull), CommitNews::Line::kFailed);
  clock.Advance(seconds(60));
  EXPECT_EQ(news.After(kFull), CommitNews::Line::kNone);
  EXPECT_EQ(news.After(absl::OkStatus()), CommitNews::Line::kSucceedAgain);
  EXPECT_EQ(news.After(absl::OkStatus()), CommitNews::Line::kNone);
  EXPECT_EQ(news.After(kFull), CommitNews::Line::kFailed);
}

TEST(CommitNewsTest, AnotherCauseIsToldOnceThePauseIsOver) {
  FakeClock clock;
  CommitNews news(clock);
  EXPECT_EQ(news.After(kFull), CommitNews::Line::kFailed);
  clock.Advance(CommitNews::kPause - seconds(1));
  EXPECT_EQ(news.After(kAway), CommitNews::Line::kNone);
  clock.Advance(seconds(1));
  EXPECT_EQ(news.After(kAway), CommitNews::Line::kFailed);
  EXPECT_EQ(news.After(absl::OkStatus()), CommitNews::Line::kSucceedAgain);
}

TEST(CommitNewsTest, FailuresThatComeAndGoAreTwoLinesInAPause) {
  FakeClock clock;
  CommitNews news(clock);
  int lines = 0;
  for (int second = 0; second < 30; ++second) {
    for (const absl::Status& status : {kFull, absl::OkStatus(), kAway}) {
      if (news.After(status) != CommitNews::Line::kNone) ++lines;
    }
    clock.Advance(seconds(1));
  }
  EXPECT_EQ(lines, 6);
}

}  // namespace
}  // namespace evenpack
