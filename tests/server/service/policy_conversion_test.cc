#include "server/service/policy_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

v1::Policy Filled(const std::function<void(v1::Policy&)>& change) {
  v1::Policy policy;
  change(policy);
  FillPolicy(policy);
  return policy;
}

TEST(PolicyConversionTest, EmptyFieldsStandForTheEnginesDefaults) {
  const v1::Policy policy = Filled([](v1::Policy& p) { p.mutable_balanced(); });
  const auto read = FromProto(policy);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->kind, PolicyKind::kBalanced);
  EXPECT_EQ(read->balanced, BalancedSpec());
  EXPECT_EQ(policy.balanced().delay_price(), 0.1);
  EXPECT_EQ(policy.balanced().attention_error(), 0.25);
  EXPECT_TRUE(policy.balanced().finish());
  EXPECT_TRUE(policy.balanced().place());
  EXPECT_FALSE(policy.balanced().has_token_cv());
  EXPECT_EQ(Filled([](v1::Policy& p) { p.mutable_fixed_greedy(); })
                .fixed_greedy()
                .window_batches(),
            1U);
}

TEST(PolicyConversionTest, EveryFieldOfBalancedIsRead) {
  const auto read = FromProto(Filled([](v1::Policy& policy) {
    v1::BalancedPolicy& balanced = *policy.mutable_balanced();
    balanced.set_release(v1::RELEASE_BY_CLASS);
    balanced.set_finish(false);
    balanced.set_delay_price(0.5);
    balanced.set_token_cv(0.05);
    balanced.set_long_share(0.5);
    balanced.set_attention_error(0.125);
    balanced.set_place(false);
    balanced.set_virtual_stages(2);
    balanced.set_sync_micro_batches(true);
    balanced.set_max_in_flight_tokens(1'000'000);
  }));
  ASSERT_TRUE(read.ok());
  BalancedSpec expected;
  expected.release = ReleaseMode::kByClass;
  expected.finish = false;
  expected.delay_price_ppm = 500'000;
  expected.token_spread_ppm = 50'000;
  expected.long_share_spread_ppm = 500'000;
  expected.attention_error_64ths = 8;
  expected.place = false;
  expected.virtual_stages = 2;
  expected.sync_domain = SyncDomain::kMicroBatch;
  expected.max_in_flight_tokens = 1'000'000;
  EXPECT_EQ(read->balanced, expected);
}

TEST(PolicyConversionTest, EveryReleaseIsRead) {
  const std::pair<v1::Release, ReleaseMode> releases[] = {
      {v1::RELEASE_UNSPECIFIED, ReleaseMode::kByWorkload},
      {v1::RELEASE_BY_WORKLOAD, ReleaseMode::kByWorkload},
      {v1::RELEASE_BY_CLASS, ReleaseMode::kByClass},
      {v1::RELEASE_BY_LEVEL, ReleaseMode::kByLevel}};
  for (const auto& [given, expected] : releases) {
    const auto read = FromProto(Filled([release = given](v1::Policy& policy) {
      policy.mutable_balanced()->set_release(release);
    }));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->balanced.release, expected);
  }
}

TEST(PolicyConversionTest, NamesWhatItRefuses) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    std::function<void(v1::BalancedPolicy&)> change;
    std::string message;
  };
  const Case cases[] = {
      {[](auto& b) { b.set_delay_price(1.5); },
       "spec.policy.balanced.delay_price: 1.5 is not accepted; accepted: 0 to 1"},
      {[](auto& b) { b.set_delay_price(kNan); },
       "spec.policy.balanced.delay_price: nan is not accepted; accepted: 0 to 1"},
      {[](auto& b) { b.set_token_cv(0); },
       "spec.policy.balanced.token_cv: 0 is not accepted; accepted: 1e-06 to 1"},
      {[](auto& b) { b.set_long_share(1.5); },
       "spec.policy.balanced.long_share: 1.5 is not accepted; accepted: 0 to 1"},
      {[](auto& b) { b.set_attention_error(-1); },
       "spec.policy.balanced.attention_error: -1 is not accepted; accepted: 0 to "
       "0.984375"},
      {[](auto& b) { b.set_release(static_cast<v1::Release>(7)); },
       "spec.policy.balanced.release: 7 is not accepted; accepted: "
       "RELEASE_BY_WORKLOAD, RELEASE_BY_CLASS or RELEASE_BY_LEVEL"},
  };
  for (const Case& test : cases) {
    const v1::Policy policy =
        Filled([&test](v1::Policy& to) { test.change(*to.mutable_balanced()); });
    EXPECT_THAT(FromProto(policy).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, test.message));
  }
}

TEST(PolicyConversionTest, OneOfALaterVersionIsRefusedRatherThanReplaced) {
  v1::Policy policy;
  policy.GetReflection()->MutableUnknownFields(&policy)->AddVarint(99, 1);
  FillPolicy(policy);
  EXPECT_THAT(FromProto(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("policy: one that this server doesn't know")));
}

}  // namespace
}  // namespace evenpack
