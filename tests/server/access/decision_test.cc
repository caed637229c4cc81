#include "server/access/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "server/access/method_rules.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

Subject Named(const std::string& name) { return {Subject::Kind::kName, "CN=" + name}; }

Caller CallerNamed(const std::string& name) { return {{Named(name)}}; }
Caller WithToken(const std::string& token) { return {{}, true, HashOfToken(token)}; }

// Each role for the jobs "a*", by certificate and by token of the role's name; an
// operator of all of them.
Roles SomeRoles() {
  Roles roles;
  for (const Role role : {Role::kProducer, Role::kConsumer, Role::kOperator}) {
    const std::string name(kRoleNames[static_cast<size_t>(role)]);
    roles.grants.push_back({role, {"a*"}, {Named(name)}, {{name, HashOfToken(name)}}});
  }
  roles.grants.push_back({Role::kOperator, {"b", "*"}, {Named("root")}, {}});
  return roles;
}

std::vector<std::string> JobsFor(const MethodRule& rule, const std::string& job) {
  std::vector<std::string> jobs;
  for (const std::string_view field : rule.job_fields) {
    if (!field.empty()) jobs.push_back(job);
  }
  return jobs;
}

TEST(DecisionTest, ARoleMakesTheCallsThatNeedIt) {
  const std::map<std::string, std::vector<NeededRole>> gives = {
      {"producer", {NeededRole::kAny, NeededRole::kProducer}},
      {"consumer", {NeededRole::kAny, NeededRole::kConsumer}},
      {"operator",
       {NeededRole::kAny, NeededRole::kProducer, NeededRole::kConsumer,
        NeededRole::kOperator}}};
  const Roles roles = SomeRoles();
  for (const auto& [name, needed] : gives) {
    for (const MethodRule& rule : MethodRules()) {
      const bool given =
          std::find(needed.begin(), needed.end(), rule.role) != needed.end();
      for (const std::string job : {"a", "abc", "b", ""}) {
        const bool of_job = rule.scope == JobScope::kSome ||
                            (rule.scope == JobScope::kNamed && job.starts_with('a'));
        for (const Caller& caller : {CallerNamed(name), WithToken(name)}) {
          const absl::Status status =
              Decide(roles, caller, rule.method, JobsFor(rule, job));
          EXPECT_EQ(status.ok(), given && of_job) << rule.method << name << job;
          if (status.ok()) continue;
          EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
          EXPECT_EQ(DetailOf(status).reason, "ROLE_MISSING");
        }
      }
    }
  }
}

TEST(DecisionTest, AnOperatorOfAllJobsMakesEveryCall) {
  for (const MethodRule& rule : MethodRules()) {
    EXPECT_THAT(
        Decide(SomeRoles(), CallerNamed("root"), rule.method, JobsFor(rule, "x")),
        IsOk());
  }
}

TEST(DecisionTest, WhoIsRefusedIsToldTheRoleTheJobAndItsOwnName) {
  const absl::Status status =
      Decide(SomeRoles(), CallerNamed("producer"), "GetStep", {"abc"});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied,
                               AllOf(HasSubstr("'CN=producer'"),
                                     HasSubstr("'consumer'"), HasSubstr("'abc'"))));
  EXPECT_EQ(
      DetailOf(status),
      (StatusDetail{"ROLE_MISSING",
                    {{"role", "consumer"}, {"job", "abc"}, {"peer", "CN=producer"}}}));
  EXPECT_EQ(
      DetailOf(Decide(SomeRoles(), WithToken("consumer"), "PutCostProfile", {})),
      (StatusDetail{"ROLE_MISSING",
                    {{"role", "operator"}, {"job", "*"}, {"peer", "token:consumer"}}}));
  const std::string overlong(1 << 20, 'a');
  EXPECT_LT(
      Decide(SomeRoles(), CallerNamed("nobody"), "GetJob", {overlong}).message().size(),
      1000U);
}

TEST(DecisionTest, ATokenThatIsNotKnownIsRefusedBesideARightCertificate) {
  const std::vector<std::string> job = {"a"};
  EXPECT_EQ(DetailOf(Decide(SomeRoles(), {}, "GetJob", job)).reason, "NO_IDENTITY");
  for (Caller caller : {WithToken("wrong"), Caller{{}, true, {}}}) {
    for (const bool certified : {false, true}) {
      if (certified) caller.subjects = {Named("root")};
      const absl::Status status = Decide(SomeRoles(), caller, "GetJob", job);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
      EXPECT_EQ(DetailOf(status).reason, "TOKEN_UNKNOWN");
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("wrong")));
      EXPECT_FALSE(MaySee(SomeRoles(), caller, "a"));
    }
  }
}

TEST(DecisionTest, ACertificateAndATokenHaveTheRolesOfBoth) {
  Caller both = WithToken("consumer");
  both.subjects = {Named("producer"), Named("nobody")};
  EXPECT_THAT(Decide(SomeRoles(), both, "Ingest", {"a"}), IsOk());
  EXPECT_THAT(Decide(SomeRoles(), both, "GetStep", {"a"}), IsOk());
  EXPECT_FALSE(Decide(SomeRoles(), both, "DeleteJob", {"a"}).ok());
}

TEST(DecisionTest, EachOfTheJobsNamedNeedsTheRole) {
  const Caller caller = CallerNamed("operator");
  EXPECT_THAT(Decide(SomeRoles(), caller, "ForkJob", {"a", "a2"}), IsOk());
  EXPECT_EQ(DetailOf(Decide(SomeRoles(), caller, "ForkJob", {"a", "b"})).values["job"],
            "b");
  EXPECT_EQ(DetailOf(Decide(SomeRoles(), caller, "ForkJob", {"b", "a"})).values["job"],
            "b");
}

TEST(DecisionTest, ACallWithoutARuleOrWithoutItsJobIsNobodys) {
  const Caller root = CallerNamed("root");
  EXPECT_EQ(Decide(SomeRoles(), root, "NewCall", {"a"}).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(DecideToOpen(SomeRoles(), root, "NewCall").code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Decide(SomeRoles(), root, "GetJob", {}).code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(DecisionTest, AStreamOpensToWhoHasItsRoleForAnyJob) {
  EXPECT_THAT(DecideToOpen(SomeRoles(), CallerNamed("producer"), "Ingest"), IsOk());
  EXPECT_EQ(
      DetailOf(DecideToOpen(SomeRoles(), CallerNamed("producer"), "StreamSteps")),
      (StatusDetail{"ROLE_MISSING",
                    {{"role", "consumer"}, {"job", ""}, {"peer", "CN=producer"}}}));
  EXPECT_EQ(DetailOf(DecideToOpen(SomeRoles(), {}, "Ingest")).reason, "NO_IDENTITY");
}

TEST(DecisionTest, AJobIsSeenByWhoHasAnyRoleForIt) {
  for (const char* name : {"producer", "consumer", "operator"}) {
    EXPECT_TRUE(MaySee(SomeRoles(), CallerNamed(name), "abc"));
    EXPECT_FALSE(MaySee(SomeRoles(), CallerNamed(name), "b"));
  }
  EXPECT_TRUE(MaySee(SomeRoles(), CallerNamed("root"), "b"));
  EXPECT_FALSE(MaySee(SomeRoles(), CallerNamed("nobody"), "abc"));
  EXPECT_FALSE(MaySee(Roles(), CallerNamed("root"), "b"));
}

}  // namespace
}  // namespace evenpack
