#include "server/service/job_makers.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace evenpack {
namespace {

class JobMakersTest : public ::testing::Test {
 protected:
  bool Make(const std::string& peer, const std::string& job, bool succeeds = true) {
    if (!makers_.Begin(peer)) return false;
    if (succeeds) jobs_.insert(job);
    makers_.End(peer, job, succeeds);
    return true;
  }

  std::set<std::string> jobs_;
  JobMakers makers_{2, [this](const std::string& job) { return jobs_.contains(job); }};
};

TEST_F(JobMakersTest, APeerHasAsManyJobsAsItMay) {
  EXPECT_TRUE(Make("a", "1"));
  EXPECT_TRUE(Make("a", "2"));
  EXPECT_FALSE(Make("a", "3"));
  EXPECT_TRUE(Make("b", "3"));
}

TEST_F(JobMakersTest, AJobThatIsGoneMakesRoomWhoeverDeletedIt) {
  ASSERT_TRUE(Make("a", "1"));
  ASSERT_TRUE(Make("a", "2"));
  jobs_.erase("1");
  EXPECT_TRUE(Make("a", "3"));
  EXPECT_FALSE(Make("a", "4"));
}

TEST_F(JobMakersTest, WhatWasNotMadeDoesNotCount) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Make("a", "1", /*succeeds=*/false));
  EXPECT_EQ(makers_.size(), 0U);
}

TEST_F(JobMakersTest, JobsBeingMadeCount) {
  EXPECT_TRUE(makers_.Begin("a"));
  EXPECT_TRUE(makers_.Begin("a"));
  EXPECT_FALSE(makers_.Begin("a"));
  makers_.End("a", "1", false);
  EXPECT_TRUE(makers_.Begin("a"));
}

TEST_F(JobMakersTest, AJobOfANameThatAnotherHadIsItsLastMakers) {
  ASSERT_TRUE(Make("a", "1"));
  jobs_.erase("1");
  ASSERT_TRUE(Make("b", "1"));
  EXPECT_TRUE(Make("a", "2"));
  EXPECT_TRUE(Make("a", "3"));
  EXPECT_TRUE(Make("b", "4"));
  EXPECT_FALSE(Make("b", "5"));
}

TEST(JobMakersLimitTest, ZeroIsNoBoundAndRemembersNothing) {
  JobMakers makers(0, [](const std::string&) { return true; });
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(makers.Begin("a"));
    makers.End("a", std::to_string(i), true);
  }
  EXPECT_EQ(makers.size(), 0U);
}

TEST(JobMakersLimitTest, PeersThatComeAndGoLeaveNoMoreThanThereAreJobs) {
  std::set<std::string> jobs;
  JobMakers makers(1, [&jobs](const std::string& job) { return jobs.contains(job); });
  for (int i = 0; i < 20'000; ++i) {
    const std::string job = std::to_string(i);
    ASSERT_TRUE(makers.Begin(job));
    jobs.insert(job);
    makers.End(job, job, true);
    if (i >= 100) jobs.erase(std::to_string(i - 100));
    ASSERT_LE(makers.size(), 1024U);
  }
}

// Against a plain list of who made what.
TEST(JobMakersLimitTest, NeverRefusesNorAcceptsWronglyInRandomOrders) {
  constexpr uint64_t kLimit = 3;
  std::mt19937 random(11);
  std::map<std::string, std::string> made;
  JobMakers makers(kLimit,
                   [&made](const std::string& job) { return made.contains(job); });
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string peer(1, "abc"[random() % 3]);
    const std::string job = std::to_string(random() % 16);
    if (random() % 3 == 0) {
      made.erase(job);
      continue;
    }
    uint64_t has = 0;
    for (const auto& [name, maker] : made) has += maker == peer ? 1 : 0;
    ASSERT_EQ(makers.Begin(peer), has < kLimit);
    if (has >= kLimit) {
      ++refused;
      continue;
    }
    const bool succeeds = made.emplace(job, peer).second;
    makers.End(peer, job, succeeds);
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace evenpack
