#include "client/cli/balanced_flags.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::StatusIs;

TEST(BalancedFlagsTest, WhatIsNotGivenIsTheDefault) {
  const FlagValues values;
  FlagReader reader(values);
  EXPECT_EQ(ReadBalanced(values, reader), BalancedSpec());
  EXPECT_TRUE(reader.status().ok());
}

TEST(BalancedFlagsTest, WhatIsNotGivenStaysAsItWas) {
  BalancedSpec known;
  known.release = ReleaseMode::kByClass;
  known.finish = false;
  known.token_spread_ppm = 70'000;
  known.place = false;
  known.max_in_flight_tokens = 999;
  const FlagValues values = {{"--delay-price", "0.1"}};
  FlagReader reader(values);
  BalancedSpec expected = known;
  expected.delay_price_ppm = 100'000;
  EXPECT_EQ(ReadBalanced(values, reader, known), expected);
}

TEST(BalancedFlagsTest, EachIsRead) {
  const FlagValues values = {{"--token-cv", "0.05"},    {"--long-share", "0.5"},
                             {"--delay-price", "0.1"},  {"--attention-error", "0.5"},
                             {"--release", "class"},    {"--finish", "false"},
                             {"--max-in-flight", "999"}};
  EXPECT_EQ(values.size(), BalancedFlagDefinitions().size());
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    EXPECT_TRUE(IsGiven(values, flag.name)) << flag.name;
  }
  FlagReader reader(values);
  BalancedSpec expected;
  expected.token_spread_ppm = 50'000;
  expected.long_share_spread_ppm = 500'000;
  expected.delay_price_ppm = 100'000;
  expected.attention_error_64ths = 32;
  expected.release = ReleaseMode::kByClass;
  expected.finish = false;
  expected.max_in_flight_tokens = 999;
  EXPECT_EQ(ReadBalanced(values, reader), expected);
  EXPECT_TRUE(reader.status().ok());
}

TEST(BalancedFlagsTest, NameWhatTheyRefuse) {
  const std::pair<std::string, std::string> bad[] = {
      {"--token-cv", "0"},       {"--token-cv", "1.1"},      {"--long-share", "2"},
      {"--delay-price", "-0.1"}, {"--attention-error", "1"}, {"--release", "never"},
      {"--finish", "maybe"},     {"--max-in-flight", "-1"}};
  for (const auto& [flag, value] : bad) {
    const FlagValues values = {{flag, value}};
    FlagReader reader(values);
    ReadBalanced(values, reader);
    EXPECT_THAT(reader.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          ::testing::HasSubstr(flag + ": '" + value)))
        << flag;
  }
}

TEST(BalancedFlagsTest, NameTheEnginesFields) {
  EXPECT_EQ(InBalancedFlagNames(absl::OkStatus()), absl::OkStatus());
  EXPECT_EQ(InBalancedFlagNames(absl::InvalidArgumentError(
                "policy.token_spread_ppm: 1, policy.long_share_spread_ppm: 2, "
                "policy.max_in_flight_tokens: 3; max_length")),
            absl::InvalidArgumentError(
                "--token-cv: 1, --long-share: 2, --max-in-flight: 3; max_length"));
}

}  // namespace
}  // namespace evenpack
