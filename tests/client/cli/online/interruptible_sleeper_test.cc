#include "client/cli/online/interruptible_sleeper.h"

#include <gmock/gmock.h>

#include <thread>

namespace evenpack {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(InterruptibleSleeperTest, WaitsForItsTime) {
  Interrupt interrupt;
  InterruptibleSleeper sleeper(interrupt);
  const auto start = steady_clock::now();
  EXPECT_TRUE(sleeper.Sleep(milliseconds(2), std::stop_token()));
  EXPECT_GE(steady_clock::now() - start, milliseconds(2));
  EXPECT_TRUE(sleeper.Sleep(milliseconds(0), std::stop_token()));
}

TEST(InterruptibleSleeperTest, AnInterruptEndsIt) {
  Interrupt interrupt;
  InterruptibleSleeper sleeper(interrupt);
  std::thread other([&interrupt] { interrupt.Request(); });
  EXPECT_FALSE(sleeper.Sleep(hours(1), std::stop_token()));
  EXPECT_FALSE(sleeper.Sleep(hours(1), std::stop_token()));
  other.join();
}

TEST(InterruptibleSleeperTest, AStopEndsIt) {
  Interrupt interrupt;
  InterruptibleSleeper sleeper(interrupt);
  std::stop_source source;
  std::thread other([&source] { source.request_stop(); });
  EXPECT_FALSE(sleeper.Sleep(hours(1), source.get_token()));
  EXPECT_FALSE(sleeper.Sleep(hours(1), source.get_token()));
  other.join();
}

}  // namespace
}  // namespace evenpack
