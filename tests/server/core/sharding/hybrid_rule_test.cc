#include "server/core/sharding/hybrid_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace evenpack {
namespace {

TEST(HybridRuleTest, TheDefaultCountsKernelLatenciesAlone) {
  const HybridRule rule;
  EXPECT_EQ(rule.token_ps, 0);
  EXPECT_EQ(rule.cut_token_ps, 0);
  EXPECT_EQ(rule.token_tolerance_ppm, 20'000u);
  EXPECT_EQ(Validate(rule), absl::OkStatus());
}

TEST(HybridRuleTest, RefusesNumbersOutOfTheirRanges) {
  const std::vector<std::pair<std::string, std::function<void(HybridRule&)>>> cases = {
      {"hybrid.token_tolerance_ppm: 1000001 is not accepted; accepted: 0 to 1000000",
       [](HybridRule& rule) { rule.token_tolerance_ppm = 1'000'001; }},
      {"hybrid.token_ps: -1 is not accepted; accepted: 0 to 100000000",
       [](HybridRule& rule) { rule.token_ps = -1; }},
      {"hybrid.cut_token_ps: 100000001 is not accepted; accepted: 0 to 100000000",
       [](HybridRule& rule) { rule.cut_token_ps = 100'000'001; }},
  };
  for (const auto& [says, damage] : cases) {
    HybridRule rule;
    damage(rule);
    EXPECT_EQ(Validate(rule).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(Validate(rule).message()), says);
  }
}

// 100 tokens over 3 ranks: the mean is 33 and a third.
TEST(IsNearMeanTest, IsWithinTheToleranceOrATokenOfTheMean) {
  HybridRule rule;
  rule.token_tolerance_ppm = 0;
  EXPECT_TRUE(IsNearMean(33, 100, 3, rule));
  EXPECT_TRUE(IsNearMean(34, 100, 3, rule));
  EXPECT_FALSE(IsNearMean(35, 100, 3, rule));
  EXPECT_FALSE(IsNearMean(32, 100, 3, rule));
  rule.token_tolerance_ppm = 50'000;
  EXPECT_TRUE(IsNearMean(35, 100, 3, rule));
  EXPECT_TRUE(IsNearMean(32, 100, 3, rule));
  EXPECT_FALSE(IsNearMean(36, 100, 3, rule));
  EXPECT_FALSE(IsNearMean(31, 100, 3, rule));
  rule.token_tolerance_ppm = 1'000'000;
  EXPECT_TRUE(IsNearMean(0, 100, 3, rule));
  EXPECT_FALSE(IsNearMean(67, 100, 3, rule));
}

}  // namespace
}  // namespace evenpack
