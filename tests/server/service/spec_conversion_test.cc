#include "server/service/spec_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "evenpack/v1/job.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/server/service/service_spec.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ServiceSpec;
using ::testing::StartsWith;
using testing::StatusIs;

v1::JobSpec LeastSpec() {
  v1::JobSpec spec;
  spec.add_streams()->set_name("a");
  spec.set_window(100);
  return spec;
}

TEST(SpecConversionTest, WhatIsLeftOutHasItsDefault) {
  const JobSpec spec = FromProto(LeastSpec()).value();
  EXPECT_EQ(spec.streams, (std::vector<StreamSpec>{{"a", 1}}));
  EXPECT_EQ(spec.merge, MergeMode::kInterleave);
  EXPECT_EQ(spec.data_parallel, 1U);
  EXPECT_EQ(spec.micro_batches, 1U);
  EXPECT_EQ(spec.context_parallel, 1U);
  EXPECT_EQ(spec.tensor_parallel, 1U);
  EXPECT_EQ(spec.pipeline_parallel, 1U);
  EXPECT_EQ(spec.virtual_pipeline_group, 1U);
  EXPECT_EQ(spec.expert_parallel, 1U);
  EXPECT_EQ(spec.max_length, 100U);
  EXPECT_EQ(spec.policy.kind, PolicyKind::kBalanced);
  EXPECT_EQ(spec.policy.balanced, BalancedSpec());
  EXPECT_FALSE(spec.split_overlong);
  EXPECT_EQ(spec.max_delay, std::nullopt);
  EXPECT_EQ(spec.backlog_limit, 4);
  EXPECT_EQ(spec.sharding, Sharding::kPerDocument);
  EXPECT_EQ(spec.layout, LayoutSpec());
  EXPECT_EQ(spec.retain_checkpoints, 1U);
  EXPECT_EQ(spec.max_steps_ahead, 1024U);
  EXPECT_EQ(spec.max_buffered_tokens, 0U);
  EXPECT_EQ(spec.max_buffered_documents, 0U);
  EXPECT_EQ(spec.max_buffered_bytes, 0U);
  EXPECT_EQ(spec.workload,
            ResolveWorkload(QuadraticCost{47'000, 1'000}, 100, 1).value());
  EXPECT_FALSE(spec.kernel_latency.empty());
}

TEST(SpecConversionTest, AnInterleavedPipelinesGroupIsByDefaultTheLeastThatWorks) {
  v1::JobSpec from = LeastSpec();
  from.mutable_parallelism()->set_data(2);
  from.mutable_parallelism()->set_micro_batches_per_rank(8);
  from.mutable_parallelism()->set_pipeline(4);
  from.mutable_policy()->mutable_balanced()->set_virtual_stages(2);
  JobSpec spec = FromProto(from).value();
  EXPECT_EQ(spec.virtual_pipeline_group, 4U);
  EXPECT_EQ(DescriptionOf(spec).parallelism().virtual_pipeline_group(), 4U);
  EXPECT_EQ(FromProto(DescriptionOf(spec)).value(), spec);
  // What descriptions said before.
  from.mutable_parallelism()->set_virtual_pipeline_group(1);
  EXPECT_EQ(FromProto(from).value().virtual_pipeline_group, 4U);
  from.mutable_parallelism()->set_micro_batches_per_rank(6);
  EXPECT_EQ(FromProto(from).value().virtual_pipeline_group, 6U);
  from.mutable_parallelism()->set_micro_batches_per_rank(2);
  EXPECT_EQ(FromProto(from).value().virtual_pipeline_group, 2U);
  from.mutable_policy()->mutable_balanced()->set_virtual_stages(1);
  EXPECT_EQ(FromProto(from).value().virtual_pipeline_group, 1U);
}

TEST(SpecConversionTest, AnInterleavedPipelinesGroupThatIsTooSmallIsRefused) {
  v1::JobSpec from = LeastSpec();
  from.mutable_parallelism()->set_micro_batches_per_rank(8);
  from.mutable_parallelism()->set_pipeline(4);
  from.mutable_parallelism()->set_virtual_pipeline_group(2);
  from.mutable_policy()->mutable_balanced()->set_virtual_stages(2);
  EXPECT_THAT(FromProto(from),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("spec.parallelism.virtual_pipeline_group: 2 is not "
                                  "accepted; accepted: a divisor of the 8")));
}

TEST(SpecConversionTest, BoundsThatReleaseByClassDoesNotKeepAreRefusedByName) {
  v1::JobSpec from = LeastSpec();
  v1::BalancedPolicy& balanced = *from.mutable_policy()->mutable_balanced();
  balanced.set_release(v1::RELEASE_BY_CLASS);
  balanced.set_token_cv(0.05);
  EXPECT_THAT(FromProto(from),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("spec.policy.balanced.token_cv: 50000 ppm is not")));
  balanced.clear_token_cv();
  balanced.set_long_share(0.2);
  EXPECT_THAT(
      FromProto(from),
      StatusIs(absl::StatusCode::kInvalidArgument,
               StartsWith("spec.policy.balanced.long_share: 200000 ppm is not")));
  balanced.clear_long_share();
  EXPECT_THAT(FromProto(from), IsOk());
}

TEST(SpecConversionTest, TheDescriptionSaysTheDefaultsAndMakesTheSameSpec) {
  const JobSpec spec = FromProto(LeastSpec()).value();
  const v1::JobSpec described = DescriptionOf(spec);
  EXPECT_EQ(described.streams(0).weight(), 1U);
  EXPECT_EQ(described.merge(), v1::MERGE_MODE_INTERLEAVE);
  EXPECT_EQ(described.parallelism().expert(), 1U);
  EXPECT_EQ(described.max_length(), 100U);
  EXPECT_TRUE(described.policy().has_balanced());
  EXPECT_EQ(described.backlog_limit(), 4);
  EXPECT_FALSE(described.has_max_delay());
  EXPECT_EQ(described.sharding(), v1::SHARDING_PER_DOCUMENT);
  EXPECT_EQ(described.consumer_layout().layout(), v1::LAYOUT_NATIVE);
  EXPECT_EQ(described.cost().quadratic().crossover_tokens(), 47'000U);
  EXPECT_EQ(described.cost().quadratic().ns_per_token(), 1'000U);
  EXPECT_EQ(described.payload_mode(), v1::PAYLOAD_MODE_BY_REFERENCE);
  EXPECT_EQ(described.retention().checkpoints(), 1U);
  EXPECT_EQ(described.retention().max_steps_ahead(), 1024U);
  EXPECT_EQ(FromProto(described).value(), spec);
  v1::JobSpec again = described;
  FillDefaults(again);
  EXPECT_TRUE(MessageDifferencer::Equals(again, described));
}

TEST(SpecConversionTest, EveryFieldIsTakenOver) {
  v1::JobSpec from = ServiceSpec();
  from.mutable_streams(0)->set_weight(3);
  from.add_streams()->set_name("b");
  from.set_merge(v1::MERGE_MODE_ARRIVAL);
  from.mutable_parallelism()->set_tensor(4);
  from.mutable_parallelism()->set_pipeline(5);
  from.mutable_parallelism()->set_virtual_pipeline_group(2);
  from.mutable_parallelism()->set_expert(6);
  from.mutable_policy()->mutable_wlb()->add_queue_thresholds(50);
  from.mutable_policy()->mutable_wlb()->add_queue_thresholds(70);
  from.set_split_overlong(true);
  from.set_max_delay(0);
  from.set_backlog_limit(0.5);
  from.set_sharding(v1::SHARDING_PER_SEQUENCE);
  from.mutable_consumer_layout()->set_layout(v1::LAYOUT_MEGATRON_THD);
  from.mutable_consumer_layout()->set_max_documents(9);
  from.mutable_consumer_layout()->add_shape_ladder(64);
  from.mutable_consumer_layout()->add_shape_ladder(128);
  from.mutable_consumer_layout()->set_sequence_parallel(true);
  from.mutable_retention()->set_checkpoints(7);
  from.mutable_retention()->set_max_steps_ahead(8);
  from.mutable_buffer_limits()->set_max_tokens(1000);
  from.mutable_buffer_limits()->set_max_documents(2000);
  from.mutable_buffer_limits()->set_max_bytes(64 * 500);
  const JobSpec spec = FromProto(from).value();
  EXPECT_EQ(spec.streams, (std::vector<StreamSpec>{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(spec.merge, MergeMode::kArrival);
  EXPECT_EQ(spec.data_parallel, 2U);
  EXPECT_EQ(spec.micro_batches, 4U);
  EXPECT_EQ(spec.context_parallel, 2U);
  EXPECT_EQ(spec.tensor_parallel, 4U);
  EXPECT_EQ(spec.pipeline_parallel, 5U);
  EXPECT_EQ(spec.virtual_pipeline_group, 2U);
  EXPECT_EQ(spec.expert_parallel, 6U);
  EXPECT_EQ(spec.window, 100U);
  EXPECT_EQ(spec.max_length, 150U);
  EXPECT_THAT(spec.policy.queue_thresholds, ElementsAre(50, 70));
  EXPECT_TRUE(spec.split_overlong);
  EXPECT_EQ(spec.max_delay, 0U);
  EXPECT_EQ(spec.backlog_limit, 0.5);
  EXPECT_EQ(spec.sharding, Sharding::kPerSequence);
  EXPECT_EQ(spec.layout.kind, Layout::kMegatronThd);
  EXPECT_EQ(spec.layout.max_documents, 9U);
  EXPECT_THAT(spec.layout.shape_ladder, ElementsAre(64, 128));
  EXPECT_TRUE(spec.layout.sequence_parallel);
  EXPECT_EQ(spec.retain_checkpoints, 7U);
  EXPECT_EQ(spec.max_steps_ahead, 8U);
  EXPECT_EQ(spec.max_buffered_tokens, 1000U);
  EXPECT_EQ(spec.max_buffered_documents, 2000U);
  EXPECT_EQ(spec.max_buffered_bytes, 32000U);
}

TEST(SpecConversionTest, PoliciesKeepTheirOptions) {
  v1::JobSpec from = ServiceSpec();
  from.mutable_policy()->mutable_original()->set_split_documents(true);
  EXPECT_EQ(FromProto(from)->policy.kind, PolicyKind::kOriginal);
  EXPECT_TRUE(FromProto(from)->policy.split_documents);
  from.mutable_policy()->mutable_fixed_greedy();
  EXPECT_EQ(FromProto(from)->policy.kind, PolicyKind::kFixedGreedy);
  EXPECT_EQ(FromProto(from)->policy.window_batches, 1U);
  from.mutable_policy()->mutable_fixed_greedy()->set_window_batches(4);
  EXPECT_EQ(FromProto(from)->policy.window_batches, 4U);
}

TEST(SpecConversionTest, ShardingFollowsTheLayoutWhereItIsLeftOut) {
  struct {
    v1::Layout layout;
    Sharding sharding;
  } const cases[] = {
      {v1::LAYOUT_UNSPECIFIED, Sharding::kPerDocument},
      {v1::LAYOUT_NATIVE, Sharding::kPerDocument},
      {v1::LAYOUT_MEGATRON_THD, Sharding::kPerDocument},
      {v1::LAYOUT_TE_THD, Sharding::kPerDocument},
      {v1::LAYOUT_PYTORCH_CP, Sharding::kPerDocument},
      {v1::LAYOUT_RING_LLAMA3, Sharding::kContiguous},
      {v1::LAYOUT_HF_FLAT, Sharding::kPerSequence},
  };
  for (const auto& each : cases) {
    v1::JobSpec from = ServiceSpec();
    from.mutable_parallelism()->set_context(1);
    from.mutable_consumer_layout()->set_layout(each.layout);
    const auto spec = FromProto(from);
    ASSERT_THAT(spec, IsOk()) << v1::Layout_Name(each.layout);
    EXPECT_EQ(spec->sharding, each.sharding) << v1::Layout_Name(each.layout);
  }
}

TEST(SpecConversionTest, HybridShardingHasItsRule) {
  v1::JobSpec from = LeastSpec();
  from.set_sharding(v1::SHARDING_HYBRID);
  from.mutable_hybrid()->set_cut_token_ps(9);
  const absl::StatusOr<JobSpec> spec = FromProto(from);
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->sharding, Sharding::kHybrid);
  EXPECT_EQ(spec->hybrid,
            (HybridRule{.token_tolerance_ppm = 20'000, .cut_token_ps = 9}));
  EXPECT_EQ(DescriptionOf(*spec).hybrid().token_tolerance_ppm(), 20'000U);
  from.mutable_hybrid()->set_token_tolerance_ppm(0);
  EXPECT_EQ(FromProto(from)->hybrid.token_tolerance_ppm, 0U);
  from.mutable_hybrid()->set_token_ps(-1);
  EXPECT_THAT(FromProto(from),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("spec.hybrid.token_ps: -1 is not accepted")));
}

TEST(SpecConversionTest, AdaptiveShardingHasKernelLatencies) {
  v1::JobSpec from = ServiceSpec();
  from.set_sharding(v1::SHARDING_ADAPTIVE);
  EXPECT_FALSE(FromProto(from)->kernel_latency.empty());
}

TEST(SpecConversionTest, TokensTravelWhereThePayloadIsByValue) {
  v1::JobSpec from = ServiceSpec();
  EXPECT_FALSE(TokensTravel(FromProto(from).value()));
  from.set_payload_mode(v1::PAYLOAD_MODE_BY_VALUE);
  EXPECT_TRUE(TokensTravel(FromProto(from).value()));
}

struct Refused {
  std::function<void(v1::JobSpec&)> damage;
  std::string field;
};

void ExpectRefused(const Refused& refused) {
  v1::JobSpec spec = ServiceSpec();
  refused.damage(spec);
  const absl::Status status = FromProto(spec).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               StartsWith(refused.field + ": ")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not accepted; accepted: "));
  EXPECT_EQ(RefusedField(status), refused.field);
}

TEST(SpecConversionTest, RefusedFieldsOfStreamsAndParallelism) {
  const auto parallelism = [](void (v1::Parallelism::*set)(uint32_t), uint32_t value) {
    return [set, value](v1::JobSpec& s) { (s.mutable_parallelism()->*set)(value); };
  };
  using P = v1::Parallelism;
  const Refused cases[] = {
      {[](auto& s) { s.clear_streams(); }, "spec.streams"},
      {[](auto& s) { s.mutable_streams(0)->set_name(""); }, "spec.streams[0].name"},
      {[](auto& s) { s.add_streams()->set_name("a"); }, "spec.streams[1].name"},
      {[](auto& s) { s.add_streams()->set_name(std::string(257, 'x')); },
       "spec.streams[1].name"},
      {[](auto& s) { s.mutable_streams(0)->set_weight(1'000'001); },
       "spec.streams[0].weight"},
      {[](auto& s) { s.set_merge(static_cast<v1::MergeMode>(9)); }, "spec.merge"},
      {parallelism(&P::set_data, 65537), "spec.parallelism.data"},
      {parallelism(&P::set_micro_batches_per_rank, 32769),
       "spec.parallelism.micro_batches_per_rank"},
      {parallelism(&P::set_micro_batches_per_rank, 4294967295),
       "spec.parallelism.micro_batches_per_rank"},
      {parallelism(&P::set_context, 1025), "spec.parallelism.context"},
      {parallelism(&P::set_tensor, 1025), "spec.parallelism.tensor"},
      {parallelism(&P::set_pipeline, 1025), "spec.parallelism.pipeline"},
      {parallelism(&P::set_virtual_pipeline_group, 4),
       "spec.parallelism.virtual_pipeline_group"},
      {parallelism(&P::set_expert, 65537), "spec.parallelism.expert"},
  };
  for (const Refused& refused : cases) ExpectRefused(refused);
}

TEST(SpecConversionTest, RefusedFieldsOfLengthsPolicyAndLimits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Refused cases[] = {
      {[](auto& s) { s.set_window(0); }, "spec.window"},
      {[](auto& s) { s.set_window(2147483648U); }, "spec.window"},
      {[](auto& s) { s.set_max_length(99); }, "spec.max_length"},
      {[](auto& s) { s.set_max_length(2147483648U); }, "spec.max_length"},
      {[](auto& s) {
         s.mutable_policy()->mutable_fixed_greedy()->set_window_batches(1025);
       },
       "spec.policy.fixed_greedy.window_batches"},
      {[](auto& s) {
         s.mutable_policy()->mutable_wlb()->add_queue_thresholds(50);
         s.mutable_policy()->mutable_wlb()->add_queue_thresholds(50);
       },
       "spec.policy.wlb.queue_thresholds[1]"},
      {[](auto& s) {
         s.mutable_policy()->mutable_fixed_greedy()->set_window_batches(4);
         s.set_max_delay(2);
       },
       "spec.max_delay"},
      {[](auto& s) { s.set_backlog_limit(-1); }, "spec.backlog_limit"},
      {[](auto& s) { s.set_backlog_limit(1'000'001); }, "spec.backlog_limit"},
      {[nan](auto& s) { s.set_backlog_limit(nan); }, "spec.backlog_limit"},
      {[](auto& s) { s.set_payload_mode(static_cast<v1::PayloadMode>(9)); },
       "spec.payload_mode"},
      {[](auto& s) { s.mutable_retention()->set_checkpoints(1001); },
       "spec.retention.checkpoints"},
      {[](auto& s) {
         s.mutable_retention()->set_max_steps_ahead((uint64_t{1} << 32) + 1);
       },
       "spec.retention.max_steps_ahead"},
      {[](auto& s) { s.mutable_buffer_limits()->set_max_tokens(399); },
       "spec.buffer_limits.max_tokens"},
      {[](auto& s) { s.mutable_buffer_limits()->set_max_documents(399); },
       "spec.buffer_limits.max_documents"},
      {[](auto& s) { s.mutable_buffer_limits()->set_max_bytes(399 * 64); },
       "spec.buffer_limits.max_bytes"},
  };
  for (const Refused& refused : cases) ExpectRefused(refused);
}

TEST(SpecConversionTest, RefusedFieldsOfLayoutShardingAndCost) {
  const Refused cases[] = {
      {[](auto& s) { s.set_sharding(static_cast<v1::Sharding>(9)); }, "spec.sharding"},
      {[](auto& s) { s.set_sharding(v1::SHARDING_CONTIGUOUS); }, "spec.sharding"},
      {[](auto& s) {
         s.mutable_consumer_layout()->set_layout(v1::LAYOUT_TE_THD);
         s.set_sharding(v1::SHARDING_ADAPTIVE);
       },
       "spec.sharding"},
      {[](auto& s) {
         s.mutable_consumer_layout()->set_layout(static_cast<v1::Layout>(9));
       },
       "spec.consumer_layout.layout"},
      {[](auto& s) { s.mutable_consumer_layout()->set_layout(v1::LAYOUT_HF_FLAT); },
       "spec.parallelism.context"},
      {[](auto& s) { s.mutable_consumer_layout()->set_sequence_parallel(true); },
       "spec.consumer_layout.sequence_parallel"},
      {[](auto& s) { s.mutable_consumer_layout()->set_pad_tokens_to(101); },
       "spec.consumer_layout.pad_tokens_to"},
      {[](auto& s) {
         s.mutable_consumer_layout()->add_shape_ladder(100);
         s.mutable_consumer_layout()->add_shape_ladder(100);
       },
       "spec.consumer_layout.shape_ladder[1]"},
      {[](auto& s) { s.mutable_consumer_layout()->add_shape_ladder(99); },
       "spec.consumer_layout.shape_ladder"},
      {[](auto& s) { s.mutable_cost()->mutable_analytic(); },
       "spec.cost.analytic.model.name"},
      {[](auto& s) {
         s.mutable_cost()->mutable_quadratic()->set_ns_per_token(uint64_t{1} << 61);
       },
       "spec.max_length"},
      {[](auto& s) {
         s.set_sharding(v1::SHARDING_ADAPTIVE);
         s.mutable_cost()->mutable_kernel_latency()->add_q_lens(128);
       },
       "spec.cost.kernel_latency.q_lens"},
  };
  for (const Refused& refused : cases) ExpectRefused(refused);
}

TEST(SpecConversionTest, TheEnginesOtherNamesStandUnderSpec) {
  struct {
    std::string engine;
    std::string api;
  } const cases[] = {
      {"data_parallel", "spec.parallelism.data"},
      {"streams[3].name", "spec.streams[3].name"},
      {"queue_thresholds[1]", "spec.policy.wlb.queue_thresholds[1]"},
      {"layout.shape_ladder[0]", "spec.consumer_layout.shape_ladder[0]"},
      {"layout.kind", "spec.consumer_layout.layout"},
      {"merge", "spec.merge"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(RefusedField(InSpecNames(InvalidField(each.engine, 1, "2"))), each.api);
  }
  const absl::Status other = absl::AbortedError("epoch: old");
  EXPECT_EQ(InSpecNames(other), other);
}

}  // namespace
}  // namespace evenpack
