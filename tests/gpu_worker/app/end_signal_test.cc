#include "gpu_worker/app/end_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace evenpack::worker {
namespace {

constexpr int kEnded = 7;

// Each in a process of its own, since signals are the whole process's.
TEST(EndSignalTest, EachOfThemIsAwaitedAlsoWhereItCameBefore) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EXIT(
        {
          if (!EndSignal::Expect().ok()) _exit(1);
          if (EndSignal::AwaitFor(std::chrono::milliseconds(0))) _exit(1);
          std::raise(signal);
          if (!EndSignal::AwaitFor(std::chrono::hours(1))) _exit(1);
          EndSignal::Await();
          _exit(kEnded);
        },
        ::testing::ExitedWithCode(kEnded), "")
        << signal;
  }
}

TEST(EndSignalTest, AHangUpThatIsIgnoredStaysSo) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        if (!EndSignal::Expect().ok()) _exit(1);
        _exit(std::signal(SIGHUP, SIG_DFL) == SIG_IGN ? kEnded : 1);
      },
      ::testing::ExitedWithCode(kEnded), "");
}

}  // namespace
}  // namespace evenpack::worker
