#include "server/runtime/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace evenpack {
namespace {

TEST(ClockTest, SteadyIsTheSystemsSteadyClock) {
  const Clock::TimePoint before = std::chrono::steady_clock::now();
  const Clock::TimePoint now = Clock::Steady().Now();
  const Clock::TimePoint after = std::chrono::steady_clock::now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(ClockTest, SteadyIsOneClock) { EXPECT_EQ(&Clock::Steady(), &Clock::Steady()); }

TEST(ClockTest, SecondsBetweenCountsPartsOfASecondAndBackwards) {
  const Clock::TimePoint from{std::chrono::hours(5)};
  EXPECT_EQ(SecondsBetween(from, from), 0);
  EXPECT_EQ(SecondsBetween(from, from + std::chrono::milliseconds(1500)), 1.5);
  EXPECT_EQ(SecondsBetween(from + std::chrono::milliseconds(250), from), -0.25);
}

}  // namespace
}  // namespace evenpack
