#include "gpu_worker/attention/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <system_error>
#include <vector>

#include "tests/testing/little_memory.h"

namespace evenpack::worker {
namespace {

TEST(ThreadTeamTest, DoesEachIterationOnce) {
  for (const size_t threads : {1U, 2U, 5U}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (const size_t count : {0U, 1U, 3U, 100U}) {
      std::vector<std::atomic<int>> done(count);
      team.Loop(count, [&done](size_t i, size_t) { ++done[i]; });
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadTeamTest, SaysThatTheSystemRefusesAThreadAndEndsTheOthers) {
  if (!evenpack::testing::LittleMemory::IsPossible()) GTEST_SKIP();
  const evenpack::testing::LittleMemory little;
  EXPECT_THROW(ThreadTeam(1000), std::system_error);
  EXPECT_EQ(ThreadTeam(20).size(), 20);
}

TEST(ThreadTeamTest, AThreadHasItsNumberToItself) {
  ThreadTeam team(4);
  std::vector<std::atomic<int>> inside(team.size());
  std::atomic<int> clashes = 0;
  for (int repeat = 0; repeat < 50; ++repeat) {
    team.Loop(64, [&](size_t, size_t thread) {
      if (inside[thread]++ != 0) ++clashes;
      --inside[thread];
    });
  }
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadTeamTest, WhatALoopWroteIsThereAfterIt) {
  ThreadTeam team(3);
  std::vector<size_t> squares(1000);
  team.Loop(squares.size(), [&squares](size_t i, size_t) { squares[i] = i * i; });
  for (size_t i = 0; i < squares.size(); ++i) ASSERT_EQ(squares[i], i * i);
}

}  // namespace
}  // namespace evenpack::worker
