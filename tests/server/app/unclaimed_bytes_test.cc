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
  bool AreTooMany(uint64_t received) {
    return bytes_.AreTooMany(received, calls_, clock_.Now(), options_);
  }

  const UnclaimedBytesOptions options_ = {
      .at_once = 100, .each_call = 1000, .each_second = 10};
  FakeClock clock_;
  CallCounts calls_;
  UnclaimedBytes bytes_{clock_.Now()};
};

TEST_F(UnclaimedBytesTest, SoManyMayComeAtOnce) {
  EXPECT_FALSE(AreTooMany(100));
  EXPECT_TRUE(AreTooMany(101));
}

TEST_F(UnclaimedBytesTest, MoreMayComeEachSecond) {
  clock_.Advance(seconds(3) + milliseconds(900));
  EXPECT_FALSE(AreTooMany(130));
  EXPECT_TRUE(AreTooMany(131));
}

TEST_F(UnclaimedBytesTest, ACallThatGoesOnMayBeInTheMiddleOfAMessage) {
  calls_.open = 2;
  EXPECT_FALSE(AreTooMany(2100));
  EXPECT_TRUE(AreTooMany(2101));
  calls_.open = 0;
  EXPECT_TRUE(AreTooMany(2100));
}

TEST_F(UnclaimedBytesTest, AnArrivalClaimsWhatCameBeforeIt) {
  EXPECT_TRUE(AreTooMany(5000));
  ++calls_.arrivals;
  EXPECT_FALSE(AreTooMany(5000));
  EXPECT_FALSE(AreTooMany(5100));
  EXPECT_TRUE(AreTooMany(5101));
  // Time before it counts no more.
  clock_.Advance(seconds(1000));
  ++calls_.arrivals;
  EXPECT_FALSE(AreTooMany(6000));
  EXPECT_TRUE(AreTooMany(6101));
}

TEST_F(UnclaimedBytesTest, ANumberThatCameAgainIsNotTooMuch) {
  ++calls_.arrivals;
  EXPECT_FALSE(AreTooMany(5000));
  EXPECT_FALSE(AreTooMany(10));
}

}  // namespace
}  // namespace evenpack
