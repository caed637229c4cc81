#include "client/cli/simulation/simulation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

#include "evenpack/v1/simulation.pb.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::SimulationConfig Config() {
  v1::SimulationConfig config;
  v1::JobSpec& job = *config.mutable_job();
  job.set_window(65536);
  v1::Parallelism& parallelism = *job.mutable_parallelism();
  parallelism.set_data(2);
  parallelism.set_micro_batches_per_rank(8);
  parallelism.set_tensor(4);
  parallelism.set_context(2);
  parallelism.set_pipeline(4);
  config.mutable_model()->set_name("7B");
  return config;
}

TEST(SimulationConfigTest, TakesShapeAndPolicyFromTheJob) {
  v1::SimulationConfig config = Config();
  config.mutable_job()->mutable_policy()->mutable_fixed_greedy()->set_window_batches(2);
  config.mutable_job()->set_max_length(65536);
  config.mutable_job()->set_sharding(v1::SHARDING_PER_SEQUENCE);
  const auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(GpuCount(input->setup.cluster), 64);
  EXPECT_EQ(input->setup.micro_batches, 16);
  EXPECT_EQ(input->setup.model.name, "7B");
  EXPECT_EQ(input->method.policy, PolicyKind::kFixedGreedy);
  EXPECT_EQ(input->method.window_batches, 2);
  EXPECT_EQ(input->method.sharding, Sharding::kPerSequence);
}

TEST(SimulationConfigTest, PlacesWhatABalancedJobPlaces) {
  v1::SimulationConfig config = Config();
  v1::BalancedPolicy& balanced =
      *config.mutable_job()->mutable_policy()->mutable_balanced();
  balanced.set_token_cv(0.05);
  auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->method.policy, PolicyKind::kBalanced);
  EXPECT_EQ(input->method.balanced.token_spread_ppm, 50'000);
  EXPECT_EQ(input->method.placing, MicroBatchPlacing::kLeast);
  balanced.set_place(false);
  input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->method.placing, MicroBatchPlacing::kGiven);
}

TEST(SimulationConfigTest, WhatTheJobDoesNotSayIsAsItWouldBeCreated) {
  const auto input = FromProto(Config());
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->method.policy, PolicyKind::kBalanced);
  EXPECT_EQ(input->method.sharding, Sharding::kPerDocument);
  EXPECT_EQ(input->method.placing, MicroBatchPlacing::kLeast);
  EXPECT_EQ(input->setup.max_length, 65536);
  EXPECT_THAT(input->setup.queue_thresholds, ElementsAre(24576, 49152));
  EXPECT_EQ(input->setup.cluster.sync_domain, SyncDomain::kStep);
  EXPECT_EQ(input->setup.cluster.network, NetworkSpec());
  EXPECT_TRUE(input->setup.attention.empty());
}

TEST(SimulationConfigTest, WlbHasDefaultsOfItsOwn) {
  v1::SimulationConfig config = Config();
  config.mutable_job()->mutable_policy()->mutable_wlb();
  auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->method.policy, PolicyKind::kWlb);
  EXPECT_EQ(input->setup.max_length, 98304);
  EXPECT_THAT(input->setup.queue_thresholds, ElementsAre(24576, 49152));
  config.mutable_job()->set_max_length(70000);
  config.mutable_job()->mutable_policy()->mutable_wlb()->add_queue_thresholds(30000);
  input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.max_length, 70000);
  EXPECT_THAT(input->setup.queue_thresholds, ElementsAre(30000));
}

TEST(SimulationConfigTest, OtherMethodsHaveTheirDefaultsBesideAPolicyOfFixedLength) {
  const std::function<void(v1::Policy&)> policies[] = {
      [](v1::Policy& policy) { policy.mutable_original(); },
      [](v1::Policy& policy) { policy.mutable_fixed_greedy(); }};
  for (const auto& set : policies) {
    v1::SimulationConfig config = Config();
    set(*config.mutable_job()->mutable_policy());
    // As `jobs describe` tells a job of fixed length.
    config.mutable_job()->set_max_length(config.job().window());
    const auto input = FromProto(config);
    ASSERT_THAT(input, IsOk());
    EXPECT_EQ(input->setup.max_length, 98304);
    EXPECT_THAT(input->setup.queue_thresholds, ElementsAre(24576, 49152));
  }
}

TEST(SimulationConfigTest, AnInterleavedScheduleTakesThePipelinesGroup) {
  v1::SimulationConfig config = Config();
  config.set_virtual_stages(2);
  auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.virtual_pipeline_group, 4);
  v1::Parallelism& parallelism = *config.mutable_job()->mutable_parallelism();
  parallelism.set_virtual_pipeline_group(8);
  input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.virtual_pipeline_group, 8);
  // Fewer micro-batches than stages are one group.
  parallelism.clear_virtual_pipeline_group();
  parallelism.set_micro_batches_per_rank(2);
  input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.virtual_pipeline_group, 2);
}

TEST(SimulationConfigTest, TakesTheHybridRuleOfTheJobWhereItHasOne) {
  v1::SimulationConfig config = Config();
  config.mutable_job()->set_sharding(v1::SHARDING_HYBRID);
  auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.hybrid, std::nullopt);
  EXPECT_EQ(input->method.token_tolerance_ppm, 20'000);
  config.mutable_job()->mutable_hybrid()->set_token_ps(800);
  input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.hybrid, (HybridRule{20'000, 800, 0}));
}

TEST(SimulationConfigTest, TakesTheModelOfTheJobsCost) {
  v1::SimulationConfig config = Config();
  config.clear_model();
  v1::AnalyticCost& cost = *config.mutable_job()->mutable_cost()->mutable_analytic();
  cost.mutable_model()->set_name("30B");
  cost.mutable_hardware()->set_name("H100");
  const auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.model.name, "30B");
}

TEST(SimulationConfigTest, TakesTheMachinesAsGiven) {
  v1::SimulationConfig config = Config();
  v1::Cluster& cluster = *config.mutable_cluster();
  cluster.set_gpus_per_node(72);
  cluster.set_inter_node_bytes_per_second(100e9);
  cluster.set_matmul_fraction(0.7);
  cluster.set_exposes_tensor_collectives(true);
  cluster.set_context_overlap(0.5);
  cluster.set_recomputes(true);
  config.set_sync_domain(v1::SYNC_DOMAIN_MICRO_BATCH);
  const auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  const ClusterSpec& read = input->setup.cluster;
  EXPECT_EQ(read.network.gpus_per_node, 72);
  EXPECT_EQ(read.network.inter_node_bytes_per_second, 100e9);
  EXPECT_EQ(read.matmul_fraction, 0.7);
  EXPECT_FALSE(read.overlap_tensor_collectives);
  EXPECT_EQ(read.context_overlap, 0.5);
  EXPECT_TRUE(read.recompute);
  EXPECT_EQ(read.sync_domain, SyncDomain::kMicroBatch);
  EXPECT_EQ(read.peak_flops, ClusterSpec().peak_flops);
}

TEST(SimulationConfigTest, TakesAMeasuredKernel) {
  v1::SimulationConfig config = Config();
  v1::KernelLatency& latency =
      *config.mutable_job()->mutable_cost()->mutable_kernel_latency();
  for (const uint32_t length : {128u, 256u}) {
    latency.add_q_lens(length);
    latency.add_kv_lens(length);
  }
  for (const int64_t ns : {1000, 2000, 0, 5000}) latency.add_slice_ns(ns);
  const auto input = FromProto(config);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.attention.SliceNs(128, 256), 2000);
}

struct Refusal {
  const char* what;
  std::function<void(v1::SimulationConfig&)> spoil;
  const char* message;
};

TEST(SimulationConfigTest, NamesTheFieldThatItRefuses) {
  const Refusal refusals[] = {
      {"no model", [](auto& config) { config.clear_model(); }, "model: nothing"},
      {"unknown model", [](auto& config) { config.mutable_model()->set_name("8B"); },
       "model.model: 8B"},
      {"no window", [](auto& config) { config.mutable_job()->clear_window(); },
       "job.window"},
      {"job's field",
       [](auto& config) {
         config.mutable_job()->mutable_parallelism()->set_data(3000);
       },
       "job.parallelism.data: 3000"},
      {"too many stages", [](auto& config) { config.set_virtual_stages(100); },
       "job.parallelism.pipeline: 4"},
      {"unknown domain",
       [](auto& config) { config.set_sync_domain(static_cast<v1::SyncDomain>(9)); },
       "sync_domain: 9"},
      {"overlap",
       [](auto& config) { config.mutable_cluster()->set_context_overlap(2); },
       "cluster.context_overlap: 2"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.what);
    v1::SimulationConfig config = Config();
    refusal.spoil(config);
    EXPECT_THAT(FromProto(config), StatusIs(kInvalid, HasSubstr(refusal.message)));
  }
}

TEST(SimulationConfigTest, ReadsAPublishedConfigurationByName) {
  const auto input = ReadSimulationInput("70B-64K");
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.cluster.tensor_parallel, 16);
  EXPECT_EQ(input->method.sharding, Sharding::kAdaptive);
}

TEST(SimulationConfigTest, ReadsAFile) {
  const testing::ScratchDirectory directory;
  const std::string path = directory.File("run.yaml");
  std::ofstream(path) << "model: {name: 7B}\n"
                         "job:\n"
                         "  window: 65536\n"
                         "  parallelism: {data: 2, micro_batches_per_rank: 4}\n";
  const auto input = ReadSimulationInput(path);
  ASSERT_THAT(input, IsOk());
  EXPECT_EQ(input->setup.micro_batches, 8);
  EXPECT_EQ(input->setup.name, path);
  std::ofstream(path) << "model: {name: 7B}\njob: {window: 65536, max_delays: 2}\n";
  EXPECT_THAT(
      ReadSimulationInput(path),
      StatusIs(kInvalid, AllOf(HasSubstr("--config"), HasSubstr("max_delays"))));
}

TEST(SimulationConfigTest, RefusesANameThatIsNothing) {
  EXPECT_THAT(ReadSimulationInput("no-such-thing"),
              StatusIs(kInvalid, AllOf(HasSubstr("--config: 'no-such-thing' is not "
                                                 "accepted; accepted: 550M-64K, "),
                                       HasSubstr("7B-128K"))));
  EXPECT_THAT(ReadSimulationInput("no-such-thing", "paper, "),
              StatusIs(kInvalid, HasSubstr("accepted: paper, 550M-64K, ")));
}

}  // namespace
}  // namespace evenpack
