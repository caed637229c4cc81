#include "server/sessions/credit_times.h"

#include <gtest/gtest.h>

#include <chrono>

namespace evenpack {
namespace {

Clock::TimePoint At(int seconds) {
  return Clock::TimePoint() + std::chrono::seconds(seconds);
}

TEST(CreditTimesTest, AStepHasTheTimeOfTheFirstCreditThatReachesIt) {
  CreditTimes times;
  times.Raise(2, At(1));
  EXPECT_EQ(times.Take(0), At(1));
  times.Raise(3, At(5));
  times.Raise(6, At(7));
  EXPECT_EQ(times.Take(1), At(1));
  EXPECT_EQ(times.Take(2), At(5));
  EXPECT_EQ(times.Take(3), At(7));
  EXPECT_EQ(times.Take(5), At(7));
}

TEST(CreditTimesTest, CreditThatReachesNoFurtherChangesNothing) {
  CreditTimes times;
  times.Raise(2, At(1));
  times.Raise(2, At(3));
  EXPECT_EQ(times.Take(1), At(1));
  times.Raise(2, At(4));
  EXPECT_EQ(times.Take(1), At(1));
}

TEST(CreditTimesTest, WithoutTimesAStepMayAlwaysBeSent) {
  EXPECT_EQ(CreditTimes().Take(7), Clock::TimePoint());
}

}  // namespace
}  // namespace evenpack
