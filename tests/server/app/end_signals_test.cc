#include "server/app/end_signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>

namespace evenpack {
namespace {

// In a process of its own, whose threads are all begun behind Block.
class EndSignalsDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void Say(const std::string& what, int signal) {
    std::fputs((what + EndSignals::NameOf(signal)).c_str(), stderr);
  }
  // Ends with status 7 where the signal comes before it serves.
  static void StartAndHang(int signal) {
    const EndSignals signals(EndSignals::Block(), [](int before) {
      Say("before ", before);
      std::_Exit(7);
    });
    kill(getpid(), signal);
    std::promise<void>().get_future().wait();
  }
  // Ends with status 8 once it served and one came.
  static void Serve(int signal) {
    EndSignals signals(EndSignals::Block(), [](int) { std::_Exit(7); });
    signals.Serving();
    kill(getpid(), signal);
    Say("served ", signals.Await());
    std::_Exit(8);
  }
};

TEST_F(EndSignalsDeathTest, OneThatComesBeforeItServesIsHeededAtOnce) {
  EXPECT_EXIT(StartAndHang(SIGTERM), ::testing::ExitedWithCode(7), "before SIGTERM");
  EXPECT_EXIT(StartAndHang(SIGINT), ::testing::ExitedWithCode(7), "before SIGINT");
  EXPECT_EXIT(StartAndHang(SIGHUP), ::testing::ExitedWithCode(7), "before SIGHUP");
}

TEST_F(EndSignalsDeathTest, OneThatComesWhileItServesIsWaitedFor) {
  EXPECT_EXIT(Serve(SIGTERM), ::testing::ExitedWithCode(8), "served SIGTERM");
  EXPECT_EXIT(Serve(SIGHUP), ::testing::ExitedWithCode(8), "served SIGHUP");
}

TEST_F(EndSignalsDeathTest, OneThatIsIgnoredStaysSo) {
  const auto ignore = [] {
    signal(SIGHUP, SIG_IGN);
    EndSignals signals(EndSignals::Block(), [](int) { std::_Exit(7); });
    kill(getpid(), SIGHUP);
    signals.Serving();
    kill(getpid(), SIGTERM);
    Say("served ", signals.Await());
    std::_Exit(8);
  };
  EXPECT_EXIT(ignore(), ::testing::ExitedWithCode(8), "served SIGTERM");
}

TEST_F(EndSignalsDeathTest, WhereNoneCameItEnds) {
  const auto end = [] {
    {
      const EndSignals signals(EndSignals::Block(), [](int) { std::_Exit(7); });
    }
    std::_Exit(9);
  };
  EXPECT_EXIT(end(), ::testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace evenpack
