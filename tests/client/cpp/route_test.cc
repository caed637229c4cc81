#include "client/cpp/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/client/cpp/servers_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::kGone;
using ::evenpack::testing::kRefused;
using ::evenpack::testing::kUnavailable;
using ::evenpack::testing::LedAt;
using ::evenpack::testing::NobodyLeads;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::StatusIs;

TEST(Route, FollowsARedirectAtOnceAndTheNextCallBeginsThere) {
  LeaderMap leaders({"a:1"});
  Route route(leaders, "run");
  EXPECT_EQ(route.address(), "a:1");
  EXPECT_TRUE(route.Follow(LedAt("b:1")));
  EXPECT_EQ(route.address(), "b:1");
  EXPECT_EQ(Route(leaders, "run").address(), "b:1");
  EXPECT_EQ(Route(leaders, "other").address(), "a:1");
}

TEST(Route, ServersThatNameEachOtherEndTheAttemptWhichNamesThem) {
  LeaderMap leaders({"a:1"});
  Route route(leaders, "run");
  EXPECT_TRUE(route.Follow(LedAt("b:1")));
  EXPECT_FALSE(route.Follow(LedAt("a:1")));
  const absl::Status status = route.Explained(LedAt("a:1"));
  EXPECT_THAT(status, StatusIs(kUnavailable, "job 'run': led by a:1 (asked a:1, b:1)"));
  EXPECT_TRUE(IsRedirect(status));
}

TEST(Route, AServerThatNamesItselfIsNotAskedTwice) {
  LeaderMap leaders({"a:1"});
  EXPECT_FALSE(Route(leaders, "run").Follow(LedAt("a:1")));
}

TEST(Route, RedirectsWithoutEndAreFollowedAFewTimes) {
  LeaderMap leaders({"a:1", "b:1"});
  Route route(leaders, "run");
  size_t followed = 0;
  while (route.Follow(LedAt(absl::StrCat("x:", followed + 1)))) ++followed;
  EXPECT_EQ(followed, Route::kMostRedirects + 2);
}

TEST(Route, ARedirectWithoutAnAddressIsAsANoLeader) {
  for (const absl::Status& status :
       {LedAt(""), NobodyLeads(),
        // It may be cut off from a database by which another leads.
        ServerError(kUnavailable, "not stored", "STORE_FAILED")}) {
    LeaderMap leaders({"a:1", "b:1"});
    Route route(leaders, "run");
    EXPECT_FALSE(route.Follow(status));
    EXPECT_EQ(Route(leaders, "run").address(), "b:1");
    EXPECT_EQ(Route(leaders, "other").address(), "a:1");
  }
}

TEST(Route, ALeaderThatIsGoneIsAskedForAmongTheGivenServers) {
  LeaderMap leaders({"a:1"});
  leaders.LedAt("run", "x:1");
  Route route(leaders, "run");
  EXPECT_TRUE(route.Follow(kRefused));
  EXPECT_EQ(route.address(), "a:1");
  EXPECT_FALSE(route.Follow(kRefused));
  EXPECT_THAT(route.Explained(kRefused),
              StatusIs(kUnavailable,
                       "failed to connect to all addresses; last error: Connection "
                       "refused (asked x:1, a:1)"));
}

TEST(Route, WhatCanHaveBeenCarriedOutIsForTheNextAttempt) {
  for (const absl::Status& status :
       {kGone, absl::DeadlineExceededError("Deadline Exceeded"),
        absl::InternalError("RST_STREAM"), absl::UnknownError("Stream removed")}) {
    LeaderMap leaders({"a:1", "b:1"});
    EXPECT_FALSE(Route(leaders, "run").Follow(status)) << status;
    EXPECT_EQ(Route(leaders, "run").address(), "b:1") << status;
  }
}

TEST(Route, AServerThatShutsDownHandsOnWhatItRefused) {
  LeaderMap leaders({"a:1", "b:1"});
  Route route(leaders, "run");
  EXPECT_TRUE(route.Follow(ServerError(kUnavailable, "it drains", "DRAINING")));
  EXPECT_EQ(route.address(), "b:1");
}

TEST(Route, AnErrorOfTheServersChangesNothing) {
  for (const absl::Status& status :
       {ServerError(absl::StatusCode::kResourceExhausted, "full", "STORE_FULL"),
        ServerError(absl::StatusCode::kNotFound, "no job", "JOB_NOT_FOUND"),
        ServerError(absl::StatusCode::kInternal, "a bug", "BUG"),
        absl::UnimplementedError("no such call"), absl::CancelledError("by us")}) {
    LeaderMap leaders({"a:1", "b:1"});
    leaders.LedAt("run", "x:1");
    EXPECT_FALSE(Route(leaders, "run").Follow(status)) << status;
    EXPECT_EQ(Route(leaders, "run").address(), "x:1") << status;
  }
}

TEST(Route, NoAnswerInTimeSaysWhoWasAskedWhereAnotherServerCanBe) {
  constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;
  const absl::Status late(kLate, "Deadline Exceeded");
  LeaderMap two({"a:1", "b:1"});
  EXPECT_THAT(Route(two, "run").Explained(late),
              StatusIs(kLate, "Deadline Exceeded (asked a:1)"));
  LeaderMap one({"a:1"});
  EXPECT_EQ(Route(one, "run").Explained(late), late);
  one.LedAt("run", "x:1");
  EXPECT_THAT(Route(one, "run").Explained(late),
              StatusIs(kLate, "Deadline Exceeded (asked x:1)"));
}

TEST(Route, ErrorsOfASingleServerStayAsTheyAre) {
  LeaderMap leaders({"a:1"});
  for (const absl::Status& status : {kGone, kRefused, NobodyLeads()}) {
    Route route(leaders, "run");
    EXPECT_FALSE(route.Follow(status));
    EXPECT_EQ(route.Explained(status), status);
    EXPECT_EQ(Route(leaders, "run").address(), "a:1");
  }
}

}  // namespace
}  // namespace evenpack::client
