#include "server/app/look_pace.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;

constexpr uint64_t kResident = 10'000;

class LookPaceTest : public ::testing::Test {
 protected:
  Look After(milliseconds time, uint64_t resident_bytes = kResident) {
    clock_.Advance(time);
    return pace_.Next(clock_.Now(), resident_bytes);
  }

  FakeClock clock_;
  const LookPaceOptions options_ = {
      .each = milliseconds(40), .growth = 1000, .glance_each = milliseconds(10)};
  LookPace pace_{clock_.Now(), kResident, options_};
};

TEST_F(LookPaceTest, EachTimeThoseThatAreBusyAndEveryFourthAll) {
  EXPECT_EQ(After(milliseconds(39)), Look::kNone);
  EXPECT_EQ(options_.interval(), milliseconds(10));
  EXPECT_EQ(After(milliseconds(10)), Look::kBusy);
  EXPECT_EQ(After(milliseconds(40)), Look::kBusy);
  EXPECT_EQ(After(milliseconds(40)), Look::kBusy);
  EXPECT_EQ(After(milliseconds(40)), Look::kAll);
  EXPECT_EQ(After(milliseconds(40)), Look::kBusy);
}

TEST_F(LookPaceTest, AllAtOnceWhereMemoryHasGrown) {
  EXPECT_EQ(After(milliseconds(10), kResident + 999), Look::kNone);
  EXPECT_EQ(After(milliseconds(9), kResident + 1000), Look::kNone);
  EXPECT_EQ(After(milliseconds(1), kResident + 1000), Look::kAll);
  // Once.
  EXPECT_EQ(After(milliseconds(10), kResident + 1999), Look::kNone);
  EXPECT_EQ(After(milliseconds(10), kResident + 2000), Look::kAll);
}

TEST_F(LookPaceTest, MemoryThatWasGivenBackMayGrowAgain) {
  EXPECT_EQ(After(milliseconds(10), kResident - 800), Look::kNone);
  EXPECT_EQ(After(milliseconds(10), kResident + 199), Look::kNone);
  EXPECT_EQ(After(milliseconds(10), kResident + 200), Look::kAll);
}

TEST_F(LookPaceTest, ThereIsNoGlanceFartherOffThanALook) {
  const LookPaceOptions options = {.each = milliseconds(5)};
  EXPECT_EQ(options.interval(), milliseconds(5));
  LookPace pace(clock_.Now(), 0, options);
  for (int look = 0; look < 2; ++look) {
    clock_.Advance(milliseconds(5));
    EXPECT_EQ(pace.Next(clock_.Now(), 0), Look::kBusy);
  }
}

}  // namespace
}  // namespace evenpack
