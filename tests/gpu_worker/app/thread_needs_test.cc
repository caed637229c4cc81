#include "gpu_worker/app/thread_needs.h"

#include <gtest/gtest.h>

namespace evenpack::worker {
namespace {

// Beside those of a process that does nothing but serve, with one thread.
size_t More(const WorkerOptions& options) {
  return ThreadsNeeded(options) - ThreadsNeeded({}) + 1;
}

TEST(ThreadNeedsTest, EachRankOfASelftestHasItsEngine) {
  WorkerOptions options;
  options.selftest = true;
  options.selftest_options.max_ranks = 8;
  options.threads = 5;
  EXPECT_EQ(More(options), 40);
  options.cuda_device = 0;
  EXPECT_EQ(More(options), 8);
}

TEST(ThreadNeedsTest, EachRankOfAProfileHasItsEngine) {
  WorkerOptions options;
  options.profile.profile = true;
  options.profile.ranks = 3;
  options.threads = 7;
  EXPECT_EQ(More(options), 21);
}

TEST(ThreadNeedsTest, ARankOfAGroupOfProcessesHasOne) {
  WorkerOptions options;
  options.selftest = true;
  options.selftest_options.max_ranks = 8;
  options.group.emplace();
  options.threads = 6;
  EXPECT_EQ(More(options), 6);
}

TEST(ThreadNeedsTest, ASidecarHasOneEngine) {
  WorkerOptions options;
  options.serve.serve = true;
  options.threads = 9;
  EXPECT_EQ(More(options), 9);
}

TEST(ThreadNeedsTest, AnAgentHasThoseThatWaitForItsServers) {
  WorkerOptions options;
  options.agent.agent = true;
  options.threads = 1000;
  EXPECT_EQ(More(options), 128);
}

}  // namespace
}  // namespace evenpack::worker
