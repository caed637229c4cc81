#include "server/access/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;

const Caller& Ops() {
  static const Caller kOps = {{{Subject::Kind::kName, "CN=ops"}}};
  return kOps;
}

Roles RolesFor(const std::string& jobs) {
  return {{{Role::kConsumer, {jobs}, Ops().subjects, {}}}};
}

TEST(AccessControlTest, DecidesByTheRolesThatHold) {
  AccessControl access(RolesFor("a"));
  EXPECT_THAT(access.Decide(Ops(), "GetStep", {"a"}), IsOk());
  const auto seen_before = access.SeenBy(Ops());
  access.SetRoles(RolesFor("b"));
  EXPECT_FALSE(access.Decide(Ops(), "GetStep", {"a"}).ok());
  EXPECT_THAT(access.Decide(Ops(), "GetStep", {"b"}), IsOk());
  EXPECT_THAT(access.DecideToOpen(Ops(), "StreamSteps"), IsOk());
  EXPECT_TRUE(seen_before("a")) << "one list is by one set of roles";
  EXPECT_FALSE(access.SeenBy(Ops())("a"));
}

TEST(AccessControlTest, CountsWhoIsDeniedByReason) {
  AccessControl access(RolesFor("a"));
  EXPECT_THAT(access.DeniedCalls(), ElementsAre(0, 0, 0));
  EXPECT_FALSE(access.Decide({}, "GetStep", {"a"}).ok());
  EXPECT_FALSE(access.DecideToOpen({}, "StreamSteps").ok());
  EXPECT_FALSE(access.Decide({{}, true, {}}, "GetStep", {"a"}).ok());
  EXPECT_FALSE(access.Decide(Ops(), "GetStep", {"b"}).ok());
  EXPECT_FALSE(access.Decide(Ops(), "Ingest", {"a"}).ok());
  EXPECT_FALSE(access.DecideToOpen(Ops(), "Ingest").ok());
  EXPECT_TRUE(access.Decide(Ops(), "GetStep", {"a"}).ok());
  EXPECT_THAT(access.DeniedCalls(), ElementsAre(2, 1, 3));
}

}  // namespace
}  // namespace evenpack
