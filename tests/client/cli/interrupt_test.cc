#include "client/cli/interrupt.h"

#include <gmock/gmock.h>

#include <array>
#include <csignal>
#include <future>

namespace evenpack {
namespace {

TEST(InterruptTest, IsRequestedOnceAndForAll) {
  Interrupt interrupt;
  EXPECT_FALSE(interrupt.IsRequested());
  interrupt.Request();
  EXPECT_TRUE(interrupt.IsRequested());
  interrupt.Request();
  EXPECT_TRUE(interrupt.IsRequested());
}

constexpr std::array kSignals = {SIGINT, SIGTERM};

TEST(SignalGuardTest, TurnsASignalIntoARequest) {
  for (const int signal : kSignals) {
    Interrupt interrupt;
    {
      const SignalGuard guard(interrupt);
      std::raise(signal);
      EXPECT_TRUE(interrupt.IsRequested());
      EXPECT_EQ(interrupt.signal(), signal);
    }
    struct sigaction action {};
    ASSERT_EQ(sigaction(signal, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
  }
}

TEST(SignalGuardTest, LeavesASignalAloneThatIsIgnored) {
  std::signal(SIGINT, SIG_IGN);
  Interrupt interrupt;
  {
    const SignalGuard guard(interrupt);
    std::raise(SIGINT);
    EXPECT_FALSE(interrupt.IsRequested());
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(SignalGuardTest, TheSecondSignalEndsTheProcess) {
  for (const int first : kSignals) {
    for (const int second : kSignals) {
      EXPECT_EXIT(
          {
            Interrupt interrupt;
            const SignalGuard guard(interrupt);
            std::raise(first);
            std::raise(second);
          },
          ::testing::KilledBySignal(second), "");
    }
  }
}

TEST(InterruptWatchTest, CallsOnceRequestedWhetherBeforeOrAfter) {
  Interrupt interrupt;
  std::promise<void> later;
  const InterruptWatch watch(interrupt, [&later] { later.set_value(); });
  interrupt.Request();
  later.get_future().wait();
  std::promise<void> before;
  const InterruptWatch second(interrupt, [&before] { before.set_value(); });
  before.get_future().wait();
}

TEST(InterruptWatchTest, EndsWithoutACallWhereNothingIsRequested) {
  Interrupt interrupt;
  bool called = false;
  {
    const InterruptWatch watch(interrupt, [&called] { called = true; });
  }
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace evenpack
