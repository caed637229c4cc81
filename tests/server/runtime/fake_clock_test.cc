#include "tests/testing/fake_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace evenpack::testing {
namespace {

TEST(FakeClockTest, StandsStillUntilItIsAdvanced) {
  FakeClock clock;
  const Clock::TimePoint start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(SecondsBetween(start, clock.Now()), 1.5);
  clock.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(clock.Now() - start, std::chrono::nanoseconds(1'500'000'001));
}

}  // namespace
}  // namespace evenpack::testing
