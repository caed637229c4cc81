#include "server/app/unclaimed_bytes.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeClock;

class UnclaimedBytesTest : public ::testing::Test {
 protected:
  uint64_t Look(uint64_t received, uint64_t sent = 0) {
    return bytes_.Look(claimed_, {received, sent}, clock_.Now(), options_);
  }

  const UnclaimedBytesOptions options_ = {
      .at_once = 100, .each_call = 1000, .each_second = 10, .each_lively_second = 50};
  FakeClock clock_;
  uint64_t claimed_ = 0;
  UnclaimedBytes bytes_{clock_.Now()};
};

TEST_F(UnclaimedBytesTest, SoManyMayComeAtOnceBesideTheMessageOfACallThatHasYetToCome) {
  EXPECT_EQ(Look(1100), 1100U);
  EXPECT_FALSE(bytes_.AreTooMany(0, options_));
  EXPECT_EQ(Look(1101), 1101U);
  EXPECT_EQ(bytes_.count(), 1101U);
  EXPECT_TRUE(bytes_.AreTooMany(0, options_));
}

TEST_F(UnclaimedBytesTest, ACallThatGoesOnMayBeInTheMiddleOfAMessage) {
  EXPECT_EQ(Look(3101), 3101U);
  EXPECT_TRUE(bytes_.AreTooMany(2, options_));
  EXPECT_FALSE(bytes_.AreTooMany(3, options_));
  // An interceptor may count a call's end before its beginning.
  EXPECT_TRUE(bytes_.AreTooMany(-1, options_));
}

TEST_F(UnclaimedBytesTest, WhatIsClaimedIsNoneAndNoMoreThanThat) {
  EXPECT_EQ(Look(5000), 5000U);
  claimed_ = 200;
  EXPECT_EQ(Look(5000), 4800U);
  claimed_ = 5000;
  EXPECT_EQ(Look(5300), 300U);
  // Claims are not saved up for what comes later.
  claimed_ = 9000;
  EXPECT_EQ(Look(5300), 0U);
  EXPECT_EQ(Look(5400), 100U);
}

TEST_F(UnclaimedBytesTest, SomeAreForgottenEachSecond) {
  EXPECT_EQ(Look(1000), 1000U);
  clock_.Advance(seconds(3) + milliseconds(500));
  EXPECT_EQ(Look(1000), 965U);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Look(1000), 955U);
  clock_.Advance(seconds(1000));
  EXPECT_EQ(Look(1000), 0U);
}

TEST_F(UnclaimedBytesTest, MoreAreForgottenWhereCallsCome) {
  EXPECT_EQ(Look(1000), 1000U);
  clock_.Advance(seconds(2));
  claimed_ = 1;
  EXPECT_EQ(Look(1000), 899U);
}

TEST_F(UnclaimedBytesTest, WhatIsSentBringsWordOfHowMuchMoreIsTaken) {
  EXPECT_EQ(Look(1000, 3200), 900U);
  EXPECT_EQ(Look(1000, 3200), 900U);
  EXPECT_EQ(Look(1000, 6400), 800U);
}

TEST_F(UnclaimedBytesTest, ANumberThatCameAgainHasNoneOfItsOwn) {
  claimed_ = 5000;
  EXPECT_EQ(Look(5000, 10), 0U);
  EXPECT_EQ(Look(10, 5), 0U);
  EXPECT_EQ(Look(30, 5), 20U);
}

}  // namespace
}  // namespace evenpack
