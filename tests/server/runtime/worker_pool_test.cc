#include "server/runtime/worker_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <system_error>
#include <vector>

#include "tests/testing/little_memory.h"

namespace evenpack {
namespace {

TEST(WorkerPoolTest, DoesAllThatWasSubmittedBeforeItEnds) {
  std::vector<int> done(1000, 0);
  {
    WorkerPool pool(4);
    for (int& entry : done) pool.Run([&entry] { ++entry; });
  }
  EXPECT_EQ(done, std::vector<int>(1000, 1));
}

TEST(WorkerPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> done;
  {
    WorkerPool pool(1);
    for (int i = 0; i < 100; ++i) pool.Run([&done, i] { done.push_back(i); });
  }
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
}

TEST(WorkerPoolTest, RunsAsManyTasksAtOnceAsItHasThreads) {
  std::latch all_there(3);
  WorkerPool pool(3);
  // None returns before all three have begun.
  for (int i = 0; i < 3; ++i) {
    pool.Run([&all_there] { all_there.arrive_and_wait(); });
  }
  all_there.wait();
}

TEST(WorkerPoolTest, ATaskMayHandOverAnotherAlsoAtTheEnd) {
  int done = 0;
  {
    WorkerPool pool(1);
    pool.Run([&pool, &done] {
      ++done;
      pool.Run([&done] { ++done; });
    });
  }
  EXPECT_EQ(done, 2);
}

TEST(WorkerPoolTest, HasAtLeastOneThread) {
  int done = 0;
  {
    WorkerPool pool(0);
    pool.Run([&done] { ++done; });
  }
  EXPECT_EQ(done, 1);
}

TEST(WorkerPoolTest, EndsWithNothingToDo) { WorkerPool pool(2); }

TEST(WorkerPoolTest, SaysThatTheSystemRefusesAThreadAndEndsTheOthers) {
  if (!testing::LittleMemory::IsPossible()) GTEST_SKIP();
  const testing::LittleMemory little;
  EXPECT_THROW(WorkerPool(1000), std::system_error);
  WorkerPool pool(20);
}

}  // namespace
}  // namespace evenpack
