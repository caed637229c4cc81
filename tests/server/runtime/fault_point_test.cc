#include "server/runtime/fault_point.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "server/runtime/log.h"

namespace evenpack {
namespace {

// Each case runs in a process of its own, which reads the variable at its first point.
class FaultPointDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { unsetenv("EVENPACK_KILL_AT"); }

  static void KillAt(const char* value) { setenv("EVENPACK_KILL_AT", value, 1); }
  static void Pass(const char* name, int times) {
    for (int i = 0; i < times; ++i) FaultPoint(name);
  }
};

const auto kKilled = ::testing::KilledBySignal(SIGKILL);
const auto kEnded = ::testing::ExitedWithCode(0);

TEST_F(FaultPointDeathTest, TheProcessDiesWhenItPassesTheNamedPointForTheNthTime) {
  KillAt("here:3");
  EXPECT_EXIT(Pass("here", 3), kKilled, "");
  EXPECT_EXIT((Pass("here", 2), std::_Exit(0)), kEnded, "");
}

TEST_F(FaultPointDeathTest, OtherPointsAreNotCounted) {
  KillAt("here:2");
  EXPECT_EXIT((Pass("here", 1), Pass("there", 5), Pass("here.not", 5), std::_Exit(0)),
              kEnded, "");
}

TEST_F(FaultPointDeathTest, WithoutTheVariableNobodyDies) {
  EXPECT_EXIT((Pass("here", 1000), std::_Exit(0)), kEnded, "");
}

TEST_F(FaultPointDeathTest, PassingsOfAllThreadsAreCounted) {
  const auto pass_from_threads = [] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([] { Pass("here", 100); });
    threads.clear();
  };
  KillAt("here:400");
  EXPECT_EXIT(pass_from_threads(), kKilled, "");
  KillAt("here:401");
  EXPECT_EXIT((pass_from_threads(), std::_Exit(0)), kEnded, "");
}

TEST_F(FaultPointDeathTest, AValueOfAnotherFormIsNamedAtTheFirstPoint) {
  for (const char* value : {"", "here", ":1", "here:", "here:0", "here:-1", "here:x"}) {
    KillAt(value);
    EXPECT_EXIT((StartLog(LogLevel::kInfo, LogFormat::kText), FaultPoint("there")),
                ::testing::KilledBySignal(SIGABRT), "name=EVENPACK_KILL_AT.*NAME:COUNT")
        << value;
  }
}

}  // namespace
}  // namespace evenpack
