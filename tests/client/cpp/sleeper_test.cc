#include "client/cpp/sleeper.h"

#include <gtest/gtest.h>

#include <thread>

namespace evenpack::client {
namespace {

TEST(Sleeper, ReturnsTrueWhenTheTimeHasPassed) {
  EXPECT_TRUE(Sleeper::Real()->Sleep(std::chrono::nanoseconds(1), {}));
}

TEST(Sleeper, AStopRequestedBeforeEndsItAtOnce) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(Sleeper::Real()->Sleep(std::chrono::hours(1), stop.get_token()));
}

TEST(Sleeper, AStopRequestedMeanwhileEndsIt) {
  std::stop_source stop;
  bool slept = true;
  std::thread sleeping([&slept, token = stop.get_token()] {
    slept = Sleeper::Real()->Sleep(std::chrono::hours(1), token);
  });
  stop.request_stop();
  sleeping.join();
  EXPECT_FALSE(slept);
}

}  // namespace
}  // namespace evenpack::client
