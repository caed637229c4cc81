#include "client/cli/solver_flags.h"

#include <gmock/gmock.h>

#include <utility>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ReadPackPolicyTest, KnowsTheEnginesPoliciesAndTheExactOnes) {
  for (const PolicyKind kind :
       {PolicyKind::kOriginal, PolicyKind::kFixedGreedy, PolicyKind::kWlb}) {
    const auto policy = ReadPackPolicy({{"--policy", std::string(PolicyName(kind))}});
    ASSERT_THAT(policy, IsOk());
    EXPECT_EQ(policy->engine, kind);
    EXPECT_EQ(policy->name, PolicyName(kind));
    EXPECT_EQ(policy->exact, std::nullopt);
  }
  const auto fixed = ReadPackPolicy({{"--policy", "fixed_solver"}});
  ASSERT_THAT(fixed, IsOk());
  EXPECT_EQ(fixed->engine, PolicyKind::kFixedGreedy);
  EXPECT_EQ(fixed->exact, ExactPolicy::kFixed);
  EXPECT_EQ(fixed->name, "fixed_solver");
  const auto varlen = ReadPackPolicy({{"--policy", "varlen_solver"}});
  ASSERT_THAT(varlen, IsOk());
  EXPECT_EQ(varlen->engine, PolicyKind::kWlb);
  EXPECT_EQ(varlen->exact, ExactPolicy::kVarlen);
}

TEST(ReadPackPolicyTest, RefusesOthers) {
  EXPECT_THAT(ReadPackPolicy({}), StatusIs(kInvalid, HasSubstr("--policy is missing")));
  EXPECT_THAT(ReadPackPolicy({{"--policy", "solver"}}),
              StatusIs(kInvalid,
                       "--policy: 'solver' is not accepted; accepted: original, "
                       "fixed_greedy, wlb, balanced, fixed_solver, varlen_solver"));
}

TEST(ReadSolverOptionsTest, HasDefaults) {
  const auto options = ReadSolverOptions({});
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->time_limit, 10);
  EXPECT_EQ(options->gap, 1e-4);
  const auto given =
      ReadSolverOptions({{"--time-limit", "0.25"}, {"--gap", "0.00001"}});
  ASSERT_THAT(given, IsOk());
  EXPECT_EQ(given->time_limit, 0.25);
  EXPECT_EQ(given->gap, 1e-5);
}

TEST(ReadSolverOptionsTest, RefusesWhatIsOutOfRange) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--time-limit", "-1"}}, "--time-limit: '-1' is not accepted"},
      {{{"--time-limit", "86401"}}, "--time-limit: '86401' is not accepted"},
      {{{"--time-limit", "soon"}}, "--time-limit: 'soon' is not accepted"},
      {{{"--time-limit", "nan"}}, "--time-limit: 'nan' is not accepted"},
      {{{"--gap", "0"}},
       "--gap: '0' is not accepted; accepted: a number from 0.00001 to 1"},
      {{{"--gap", "0.000009"}}, "--gap: '0.000009' is not accepted"},
      {{{"--gap", "1.5"}}, "--gap: '1.5' is not accepted"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(ReadSolverOptions(values), StatusIs(kInvalid, HasSubstr(message)));
  }
}

TEST(MakePackJobSpecTest, AnExactPolicyHasTheJobOfItsHeuristic) {
  JobFlags flags;
  flags.micro_batches = 4;
  flags.window = 1000;
  flags.max_length = 1500;
  flags.window_batches = 3;
  flags.queue_thresholds = {400};
  flags.cost = QuadraticCost{360, 1000};
  const auto spec = [&flags](const char* name) {
    const auto policy = ReadPackPolicy({{"--policy", name}});
    EXPECT_THAT(policy, IsOk());
    const auto made = MakePackJobSpec(flags, *policy);
    EXPECT_THAT(made, IsOk());
    return *made;
  };
  EXPECT_EQ(spec("fixed_solver"), spec("fixed_greedy"));
  EXPECT_EQ(spec("fixed_solver").policy.window_batches, 3U);
  EXPECT_THAT(spec("varlen_solver").policy.queue_thresholds, IsEmpty());
  EXPECT_THAT(spec("wlb").policy.queue_thresholds, ElementsAre(400));
}

TEST(UnusedPackFlagsTest, AreTheOnesWithoutEffect) {
  const FlagValues values = {{"--gap", "0.1"},
                             {"--queue-thresholds", "5"},
                             {"--time-limit", "3"},
                             {"--window-batches", "2"}};
  const auto unused = [&values](const char* name) {
    const auto policy = ReadPackPolicy({{"--policy", name}});
    EXPECT_THAT(policy, IsOk());
    return UnusedPackFlags(values, *policy);
  };
  EXPECT_THAT(unused("wlb"), ElementsAre("--gap", "--time-limit", "--window-batches"));
  EXPECT_THAT(unused("fixed_greedy"),
              ElementsAre("--gap", "--queue-thresholds", "--time-limit"));
  EXPECT_THAT(unused("fixed_solver"), ElementsAre("--queue-thresholds"));
  EXPECT_THAT(unused("varlen_solver"),
              ElementsAre("--queue-thresholds", "--window-batches"));
}

}  // namespace
}  // namespace evenpack
