#include "client/cpp/leader_map.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace evenpack::client {
namespace {

TEST(LeaderMap, TheFirstGivenServerIsAskedUntilItIsLost) {
  LeaderMap leaders({"a:1", "b:1", "c:1"});
  EXPECT_EQ(leaders.AddressFor("run"), "a:1");
  EXPECT_EQ(leaders.AddressFor(""), "a:1");
  leaders.Lost("a:1");
  // By a call that began before that was known.
  leaders.Lost("a:1");
  EXPECT_EQ(leaders.AddressFor("run"), "b:1");
  leaders.Lost("b:1");
  leaders.Lost("c:1");
  EXPECT_EQ(leaders.AddressFor("run"), "a:1");
}

TEST(LeaderMap, ALeaderIsAskedAboutItsJobAlone) {
  LeaderMap leaders({"a:1"});
  leaders.LedAt("run", "x:1");
  EXPECT_EQ(leaders.AddressFor("run"), "x:1");
  EXPECT_EQ(leaders.AddressFor("other"), "a:1");
  EXPECT_EQ(leaders.AddressFor(""), "a:1");
  leaders.LedAt("run", "y:1");
  EXPECT_EQ(leaders.AddressFor("run"), "y:1");
}

TEST(LeaderMap, OfALostLeaderNothingIsKept) {
  LeaderMap leaders({"a:1"});
  for (const char* job : {"one", "two"}) leaders.LedAt(job, "x:1");
  leaders.LedAt("three", "y:1");
  leaders.Lost("x:1");
  EXPECT_EQ(leaders.AddressFor("one"), "a:1");
  EXPECT_EQ(leaders.AddressFor("two"), "a:1");
  EXPECT_EQ(leaders.AddressFor("three"), "y:1");
}

TEST(LeaderMap, WhereNobodyLeadsAJobTheNextServerIsAskedAboutIt) {
  LeaderMap leaders({"a:1", "b:1"});
  leaders.NobodyLeads("run", "a:1");
  EXPECT_EQ(leaders.AddressFor("run"), "b:1");
  EXPECT_EQ(leaders.AddressFor("other"), "a:1");
  leaders.NobodyLeads("run", "b:1");
  EXPECT_EQ(leaders.AddressFor("run"), "a:1");
  leaders.NobodyLeads("run", "x:1");
  EXPECT_EQ(leaders.AddressFor("run"), "a:1");
}

TEST(LeaderMap, IsBounded) {
  LeaderMap leaders({"a:1"});
  for (size_t i = 0; i < LeaderMap::kMostJobs; ++i) {
    leaders.LedAt(absl::StrCat(i), "x:1");
  }
  EXPECT_EQ(leaders.AddressFor("0"), "x:1");
  leaders.LedAt("0", "y:1");
  EXPECT_EQ(leaders.AddressFor("1"), "x:1");
  leaders.LedAt("one more", "x:1");
  EXPECT_EQ(leaders.AddressFor("1"), "a:1");
  EXPECT_EQ(leaders.AddressFor("one more"), "x:1");
}

}  // namespace
}  // namespace evenpack::client
