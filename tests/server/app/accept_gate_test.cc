#include "server/app/accept_gate.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using testing::FakeClock;

class AcceptGateTest : public ::testing::Test {
 protected:
  bool IsOpenAfter(milliseconds time, int64_t held) {
    clock_.Advance(time);
    return gate_.IsOpen(clock_.Now(), held);
  }

  FakeClock clock_;
  AcceptGate gate_{{.most_held = 10, .patience = milliseconds(100)}};
};

TEST_F(AcceptGateTest, IsShutWhileMoreAreHeldThanMayBe) {
  EXPECT_TRUE(IsOpenAfter(milliseconds(0), 10));
  EXPECT_FALSE(IsOpenAfter(milliseconds(0), 11));
  EXPECT_FALSE(IsOpenAfter(milliseconds(50), 11));
  EXPECT_TRUE(IsOpenAfter(milliseconds(0), 10));
}

TEST_F(AcceptGateTest, StaysShutWhileSomeAreTakenDown) {
  for (int held = 50; held > 10; --held) {
    EXPECT_FALSE(IsOpenAfter(milliseconds(99), held)) << held;
  }
}

TEST_F(AcceptGateTest, OpensOnceEachTimeThatNoneWasTakenDownForLong) {
  EXPECT_FALSE(IsOpenAfter(milliseconds(0), 50));
  // More come of those that leave meanwhile.
  EXPECT_FALSE(IsOpenAfter(milliseconds(99), 60));
  EXPECT_TRUE(IsOpenAfter(milliseconds(1), 50));
  EXPECT_FALSE(IsOpenAfter(milliseconds(0), 70));
  EXPECT_FALSE(IsOpenAfter(milliseconds(99), 70));
  EXPECT_TRUE(IsOpenAfter(milliseconds(1), 70));
}

}  // namespace
}  // namespace evenpack
