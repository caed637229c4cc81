#include "client/cpp/retry_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cpp/mocks/fake_clock.h"

namespace evenpack::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RetryPace kPace = {.quiet = seconds(5), .between = seconds(60)};

RetryNews Failed(const std::string& what, milliseconds failing) {
  return {what, absl::UnavailableError("no route"), failing, seconds(600) - failing};
}

RetryNews Works(const std::string& what, milliseconds failing) {
  return {what, absl::OkStatus(), failing, {}};
}

TEST(RetryNewsTest, ALineSaysWhatFailsForHowLongAndWhy) {
  EXPECT_EQ(TextOf(Failed("feeding stream 'web' of job 'run'", milliseconds(7400))),
            "feeding stream 'web' of job 'run' has failed for 7 s and is tried for 593 "
            "s more: UNAVAILABLE: no route");
  EXPECT_EQ(TextOf(Works("ListJobs", milliseconds(7600))),
            "ListJobs works again after 8 s of failing");
}

class SeldomTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  std::vector<std::string> told_;
  const RetryListener listener_ = Seldom(
      kPace,
      [this](const RetryNews& news) {
        told_.push_back(news.what + (news.why.ok() ? " works" : ""));
      },
      clock_);
};

TEST_F(SeldomTest, WhatIsShortIsNotToldNorItsEnd) {
  listener_(Failed("a", milliseconds(4999)));
  listener_(Works("a", milliseconds(4999)));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(SeldomTest, WhatLastsIsToldOnceInAWhileAndItsEndOnce) {
  listener_(Failed("a", seconds(5)));
  clock_.Advance(kPace.between - milliseconds(1));
  listener_(Failed("a", seconds(64)));
  EXPECT_THAT(told_, ElementsAre("a"));
  clock_.Advance(milliseconds(1));
  listener_(Failed("a", seconds(65)));
  listener_(Works("a", seconds(65)));
  listener_(Works("a", seconds(65)));
  EXPECT_THAT(told_, ElementsAre("a", "a", "a works"));
}

TEST_F(SeldomTest, OneOfManyThatFailTogetherIsTold) {
  for (const std::string what : {"a", "b", "c"}) listener_(Failed(what, seconds(6)));
  EXPECT_THAT(told_, ElementsAre("a"));
  listener_(Works("b", seconds(6)));
  EXPECT_THAT(told_, ElementsAre("a"));
}

TEST_F(SeldomTest, WhatStillFailsWhenThatWorksIsTold) {
  listener_(Failed("a", seconds(6)));
  listener_(Failed("b", seconds(6)));
  listener_(Works("a", seconds(6)));
  listener_(Failed("b", seconds(7)));
  EXPECT_THAT(told_, ElementsAre("a", "a works", "b"));
}

TEST_F(SeldomTest, CopiesShareWhatWasTold) {
  const RetryListener copy = listener_;
  listener_(Failed("a", seconds(6)));
  copy(Failed("a", seconds(6)));
  EXPECT_THAT(told_, ElementsAre("a"));
}

}  // namespace
}  // namespace evenpack::client
