#include "server/runtime/repeated_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace evenpack {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(RepeatedTaskTest, IsDoneAgainAndAgainOnOneThread) {
  std::promise<void> thrice;
  std::atomic<int> times = 0;
  const RepeatedTask task(milliseconds(1), [&] {
    if (++times == 3) thrice.set_value();
  });
  thrice.get_future().wait();
}

TEST(RepeatedTaskTest, IsNeverDoneOnceItIsGone) {
  std::promise<void> begun;
  std::atomic<bool> ended = false;
  std::atomic<int> times = 0;
  {
    const RepeatedTask task(milliseconds(1), [&] {
      if (++times == 1) begun.set_value();
      ended = true;
    });
    begun.get_future().wait();
  }
  EXPECT_TRUE(ended) << "what was under way is waited for";
  const int done = times;
  EXPECT_EQ(times, done);
}

TEST(RepeatedTaskTest, EndsWithoutWaitingForTheNextTime) {
  bool done = false;
  {
    const RepeatedTask task(hours(1), [&done] { done = true; });
  }
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace evenpack
