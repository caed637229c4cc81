#include "server/app/flood_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/testing/fake_clock.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakeClock;
using ::testing::IsEmpty;

class FloodGuardTest : public ::testing::Test {
 protected:
  void Cancel(const std::string& peer, int calls) {
    for (int i = 0; i < calls; ++i) guard_.CallCancelled(peer);
  }

  FakeClock clock_;
  std::vector<std::string> cut_;
  FloodGuard guard_{clock_,
                    [this](const std::string& peer) { cut_.push_back(peer); },
                    {.at_once = 10, .each_second = 2}};
};

TEST_F(FloodGuardTest, WhoCancelsMoreThanItMayIsCut) {
  Cancel("a", 10);
  EXPECT_THAT(cut_, IsEmpty());
  Cancel("b", 10);
  EXPECT_THAT(cut_, IsEmpty());
  Cancel("a", 1);
  EXPECT_THAT(cut_, ElementsAre("a"));
}

TEST_F(FloodGuardTest, TimeGivesBackAndNoMoreThanThereWas) {
  Cancel("a", 10);
  clock_.Advance(milliseconds(1500));
  Cancel("a", 3);
  EXPECT_THAT(cut_, IsEmpty());
  clock_.Advance(seconds(3600));
  Cancel("a", 10);
  EXPECT_THAT(cut_, IsEmpty());
  Cancel("a", 1);
  EXPECT_THAT(cut_, ElementsAre("a"));
}

TEST_F(FloodGuardTest, PeersThatBecameQuietAreForgotten) {
  for (int i = 0; i < 1000; ++i) Cancel("early " + std::to_string(i), 1);
  EXPECT_EQ(guard_.peers(), 1000U);
  clock_.Advance(seconds(1));
  for (int i = 0; i < 24; ++i) Cancel("late " + std::to_string(i), 2);
  EXPECT_LE(guard_.peers(), 24U);
}

}  // namespace
}  // namespace evenpack
