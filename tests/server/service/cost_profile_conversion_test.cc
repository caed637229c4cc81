#include "server/service/cost_profile_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/small_profile.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ServiceSpec;
using testing::SmallProfile;
using testing::StatusIs;

constexpr CostShape kSmallShape = {
    .max_length = 512, .micro_batches = 4, .tensor_parallel = 2, .context_parallel = 2};

// Knows "small" alone.
absl::StatusOr<std::string> Find(const std::string& name) {
  if (name != "small") return absl::NotFoundError("none");
  return SmallProfile("small").SerializeAsString();
}

// A model whose heads over tensor parallelism are those of SmallProfile.
v1::Cost ProfiledCost() {
  v1::Cost cost;
  v1::AnalyticCost& linear = *cost.mutable_profiled()->mutable_linear();
  v1::ModelShape& shape = *linear.mutable_model()->mutable_shape();
  shape.set_layers(2);
  shape.set_hidden(512);
  shape.set_query_heads(8);
  shape.set_kv_heads(4);
  shape.set_head_size(64);
  shape.set_ffn_size(1024);
  shape.set_vocabulary(1000);
  linear.mutable_hardware()->set_name("H100");
  cost.set_profile("small");
  return cost;
}

TEST(CostProfileConversionTest, AProfileMayHaveNoBackwardAndNoCollectives) {
  v1::CostProfile profile = SmallProfile("small");
  EXPECT_THAT(CheckProfile(profile), IsOk());
  profile.clear_backward();
  profile.clear_collectives();
  profile.clear_measured_unix_seconds();
  profile.clear_hardware();
  EXPECT_THAT(CheckProfile(profile), IsOk());
}

TEST(CostProfileConversionTest, RefusesAFieldOutOfItsRange) {
  struct Case {
    std::string field;
    std::function<void(v1::CostProfile&)> change;
  };
  const Case cases[] = {
      {"hardware", [](auto& p) { p.set_hardware(std::string(1025, 'x')); }},
      {"kernel", [](auto& p) { p.set_kernel(std::string(1025, 'x')); }},
      {"heads.query_heads", [](auto& p) { p.clear_heads(); }},
      {"heads.query_heads", [](auto& p) { p.mutable_heads()->set_query_heads(1025); }},
      {"heads.kv_heads", [](auto& p) { p.mutable_heads()->set_kv_heads(0); }},
      {"heads.kv_heads", [](auto& p) { p.mutable_heads()->set_kv_heads(3); }},
      {"heads.kv_heads", [](auto& p) { p.mutable_heads()->set_kv_heads(8); }},
      {"heads.head_size", [](auto& p) { p.mutable_heads()->set_head_size(0); }},
      {"element_type", [](auto& p) { p.clear_element_type(); }},
      {"element_type",
       [](auto& p) { p.set_element_type(static_cast<v1::ElementType>(9)); }},
      {"measured_unix_seconds", [](auto& p) { p.set_measured_unix_seconds(-1); }},
      {"forward.q_lens", [](auto& p) { p.clear_forward(); }},
      {"forward.q_lens[1]", [](auto& p) { p.mutable_forward()->set_q_lens(1, 200); }},
      {"forward.slice_ns", [](auto& p) { p.mutable_forward()->add_slice_ns(1); }},
      {"forward.launch_ns", [](auto& p) { p.mutable_forward()->set_launch_ns(-1); }},
      {"backward.slice_ns[0]",
       [](auto& p) { p.mutable_backward()->set_slice_ns(0, -1); }},
      {"collectives[0].kind", [](auto& p) { p.mutable_collectives(0)->clear_kind(); }},
      {"collectives[0].ranks", [](auto& p) { p.mutable_collectives(0)->set_ranks(1); }},
      {"collectives[0].bytes",
       [](auto& p) { p.mutable_collectives(0)->clear_bytes(); }},
      {"collectives[0].bytes[1]",
       [](auto& p) { p.mutable_collectives(0)->set_bytes(1, 4096); }},
      {"collectives[0].latency_ns",
       [](auto& p) { p.mutable_collectives(0)->add_latency_ns(1); }},
      {"collectives[0].latency_ns[1]",
       [](auto& p) { p.mutable_collectives(0)->set_latency_ns(1, -1); }},
      {"collectives[1].ranks",
       [](auto& p) { *p.add_collectives() = v1::CollectiveLatency(p.collectives(0)); }},
      {"collectives",
       [](auto& p) {
         for (int i = 0; i < 64; ++i) p.add_collectives()->set_ranks(3);
       }},
  };
  for (const Case& each : cases) {
    v1::CostProfile profile = SmallProfile("small");
    each.change(profile);
    const absl::Status status = CheckProfile(profile);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << each.field;
    EXPECT_EQ(RefusedField(status), each.field) << status;
  }
}

TEST(CostProfileConversionTest, AProfileStandsForItsForwardLatencies) {
  v1::Cost named = ProfiledCost();
  ASSERT_THAT(ResolveProfile(Find, kSmallShape, named), IsOk());
  EXPECT_EQ(named.kernel_latency().SerializeAsString(),
            SmallProfile("small").forward().SerializeAsString());
  v1::Cost none = ProfiledCost();
  none.clear_profile();
  ASSERT_THAT(ResolveProfile(nullptr, kSmallShape, none), IsOk());
  EXPECT_FALSE(none.has_kernel_latency());
}

TEST(CostProfileConversionTest, AProfileThatIsNotThereIsNamed) {
  v1::Cost cost;
  cost.set_profile("other");
  for (const ProfileFinder& find : {ProfileFinder(Find), ProfileFinder()}) {
    const absl::Status status = ResolveProfile(find, kSmallShape, cost);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                                 AllOf(HasSubstr("spec.cost.profile: 'other'"),
                                       HasSubstr("accepted: the name"))));
    EXPECT_EQ(DetailOf(status).reason, "PROFILE_NOT_FOUND");
    EXPECT_EQ(DetailOf(status).values.at("profile"), "other");
  }
  EXPECT_THAT(
      ResolveProfile([](const std::string&) { return absl::DataLossError("damaged"); },
                     kSmallShape, cost),
      StatusIs(absl::StatusCode::kDataLoss, "damaged"));
}

TEST(CostProfileConversionTest, AProfileAndInlineLatenciesAreRefusedTogether) {
  v1::Cost cost = ProfiledCost();
  cost.mutable_kernel_latency();
  const absl::Status status = ResolveProfile(Find, kSmallShape, cost);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("together with cost.kernel_latency")));
  EXPECT_EQ(RefusedField(status), "cost.profile");
}

TEST(CostProfileConversionTest, OtherHeadsThanTheModelsAreRefused) {
  v1::Cost cost = ProfiledCost();
  CostShape shape = kSmallShape;
  shape.tensor_parallel = 1;
  const absl::Status status = ResolveProfile(Find, shape, cost);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("'small', of 4:2 heads of 64"),
                                     HasSubstr("a profile of 8:4 heads of 64"))));
  EXPECT_EQ(RefusedField(status), "cost.profile");
  // Where attention is not priced by it, it may be of any.
  cost.mutable_quadratic();
  EXPECT_THAT(ResolveProfile(Find, shape, cost), IsOk());
}

TEST(CostProfileConversionTest, ASpecIsDecidedFromTheProfileAndKeepsItsName) {
  v1::JobSpec named = ServiceSpec();
  named.mutable_parallelism()->set_tensor(2);
  named.set_sharding(v1::SHARDING_ADAPTIVE);
  *named.mutable_cost() = ProfiledCost();
  v1::JobSpec inlined = named;
  inlined.mutable_cost()->clear_profile();
  *inlined.mutable_cost()->mutable_kernel_latency() = SmallProfile("small").forward();
  const JobSpec a = FromProto(named, Find).value();
  const JobSpec b = FromProto(inlined).value();
  EXPECT_EQ(a.workload, b.workload);
  EXPECT_EQ(a.kernel_latency, b.kernel_latency);
  EXPECT_FALSE(a.kernel_latency.empty());
  EXPECT_EQ(DescriptionOf(a).cost().profile(), "small");
  EXPECT_FALSE(DescriptionOf(a).cost().has_kernel_latency());
  named.mutable_cost()->mutable_kernel_latency();
  EXPECT_EQ(RefusedField(FromProto(named, Find).status()), "spec.cost.profile");
}

}  // namespace
}  // namespace evenpack
