#include "client/cli/model_flags.h"

#include <gmock/gmock.h>

#include <variant>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ModelFlagsTest, CrossoverIsTheDefault) {
  const FlagValues values;
  FlagReader reader(values);
  const CostSpec cost = ReadCost(values, reader);
  ASSERT_THAT(reader.status(), IsOk());
  ASSERT_TRUE(std::holds_alternative<QuadraticCost>(cost));
  EXPECT_EQ(std::get<QuadraticCost>(cost), (QuadraticCost{47000, 1000}));
}

TEST(ModelFlagsTest, AModelGivesAnAnalyticCost) {
  const FlagValues values = {
      {"--model", "70b"}, {"--hardware", "H200"}, {"--tp", "8"}, {"--cp", "16"}};
  FlagReader reader(values);
  const CostSpec cost = ReadCost(values, reader);
  ASSERT_THAT(reader.status(), IsOk());
  ASSERT_TRUE(std::holds_alternative<AnalyticCost>(cost));
  const auto& analytic = std::get<AnalyticCost>(cost);
  EXPECT_EQ(analytic.model.name, "70B");
  EXPECT_EQ(analytic.hardware.name, "H200");
  EXPECT_EQ(analytic.tensor_parallel, 8U);
  EXPECT_EQ(analytic.context_parallel, 16U);
}

TEST(ModelFlagsTest, RefusesBadValues) {
  struct Case {
    FlagValues values;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{{"--model", "8B"}}, "--model: '8B' is not accepted; accepted: 550M, 7B, 30B"},
      {{{"--hardware", "T4"}},
       "--hardware: 'T4' is not accepted; accepted: H100, H200"},
      {{{"--tp", "0"}}, "--tp: '0' is not accepted"},
      {{{"--cp", "1025"}}, "--cp: '1025' is not accepted"},
      {{{"--crossover", "0"}}, "--crossover: '0' is not accepted"},
      {{{"--ns-per-token", "0"}}, "--ns-per-token: '0' is not accepted"},
      {{{"--crossover", "5"}, {"--model", "7B"}},
       "--crossover: '5' together with --model '7B' is not accepted; accepted: one of "
       "the two"},
  };
  for (const Case& test : cases) {
    FlagReader reader(test.values);
    ReadCost(test.values, reader);
    EXPECT_THAT(reader.status(), StatusIs(kInvalid, HasSubstr(test.message)));
  }
}

}  // namespace
}  // namespace evenpack
