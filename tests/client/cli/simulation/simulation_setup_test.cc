#include "client/cli/simulation/simulation_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/simulation/paper_configs.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SimulationSetupTest : public ::testing::Test {
 protected:
  absl::StatusOr<JobSpec> Make(const SimulationMethod& method, double scale = 1) const {
    const auto costs =
        ClusterCosts::Create(setup_.model, setup_.cluster, setup_.attention);
    EXPECT_THAT(costs, IsOk());
    return MakeSimulatedJob(setup_, method, *costs, scale);
  }

  SimulationSetup setup_ = *NamedSetup("7B-128K");
};

TEST_F(SimulationSetupTest, GivesVariableLengthsTheRoomOfMemory) {
  const auto wlb = Make(WlbMethod());
  ASSERT_THAT(wlb, IsOk());
  EXPECT_EQ(wlb->max_length, 196608);
  EXPECT_THAT(wlb->policy.queue_thresholds, ElementsAre(49152, 98304));
  EXPECT_FALSE(wlb->kernel_latency.empty());
  setup_.queue_thresholds.clear();
  EXPECT_THAT(Make(WlbMethod())->policy.queue_thresholds, IsEmpty());
}

TEST_F(SimulationSetupTest, AWindowBringsItsRoomAndItsOutliers) {
  SetWindow(1000, setup_);
  EXPECT_EQ(setup_.window, 1000);
  EXPECT_EQ(setup_.max_length, 1500);
  EXPECT_THAT(setup_.queue_thresholds, ElementsAre(375, 750));
  SetWindow(1, setup_);
  EXPECT_EQ(setup_.max_length, 1);
  EXPECT_THAT(setup_.queue_thresholds, IsEmpty());
}

TEST_F(SimulationSetupTest, AMethodIsNamedAfterItsPackingAndSharding) {
  EXPECT_EQ(MethodName(PlainMethod()), "original, per_sequence");
  EXPECT_EQ(MethodName(WlbMethod()), "wlb, adaptive");
}

TEST_F(SimulationSetupTest, KeepsFixedLengthsToTheWindow) {
  SimulationMethod fixed = PlainMethod();
  fixed.policy = PolicyKind::kFixedGreedy;
  fixed.window_batches = 4;
  for (const SimulationMethod& method : {PlainMethod(), fixed}) {
    const auto spec = Make(method);
    ASSERT_THAT(spec, IsOk());
    EXPECT_EQ(spec->max_length, 131072);
    EXPECT_THAT(spec->policy.queue_thresholds, IsEmpty());
    EXPECT_EQ(spec->policy.window_batches, method.window_batches);
  }
}

TEST_F(SimulationSetupTest, TheBoundOnDelayIsThatOfEveryPolicy) {
  SimulationMethod fixed = PlainMethod();
  fixed.policy = PolicyKind::kFixedGreedy;
  fixed.window_batches = 4;
  setup_.max_delay = 3;
  for (const SimulationMethod& method : {PlainMethod(), fixed, WlbMethod()}) {
    const auto spec = Make(method);
    ASSERT_THAT(spec, IsOk());
    EXPECT_EQ(spec->max_delay, 3);
  }
  setup_.max_delay = 2;
  EXPECT_THAT(Make(fixed), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("max_delay: 2 is not accepted")));
}

TEST_F(SimulationSetupTest, ContiguousShardsAreOfTheLayoutThatHasThem) {
  SimulationMethod method = WlbMethod();
  method.sharding = Sharding::kContiguous;
  const auto spec = Make(method);
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->layout.kind, Layout::kRingLlama3);
  EXPECT_EQ(Make(WlbMethod())->layout.kind, Layout::kNative);
}

TEST_F(SimulationSetupTest, ScalesTheAttentionThatDecisionsSee) {
  const auto right = Make(WlbMethod());
  const auto doubled = Make(WlbMethod(), 2);
  ASSERT_THAT(right, IsOk());
  ASSERT_THAT(doubled, IsOk());
  const int64_t attention = right->workload.AttentionNs(65536);
  EXPECT_NEAR(static_cast<double>(doubled->workload.AttentionNs(65536)),
              2.0 * static_cast<double>(attention), 2);
  EXPECT_EQ(doubled->workload.linear(), right->workload.linear());
}

TEST_F(SimulationSetupTest, HybridShardingDecidesByTheCostsUnlessARuleIsGiven) {
  const auto costs =
      ClusterCosts::Create(setup_.model, setup_.cluster, setup_.attention);
  ASSERT_THAT(costs, IsOk());
  SimulationMethod method = BalancedMethod();
  method.token_tolerance_ppm = 5;
  EXPECT_EQ(HybridRuleOf(setup_, method, *costs), costs->Hybrid(5));
  EXPECT_GT(Make(method)->hybrid.token_ps, 0);
  setup_.hybrid = HybridRule{70, 800, 9};
  const HybridRule given = {5, 800, 9};
  EXPECT_EQ(HybridRuleOf(setup_, method, *costs), given);
  EXPECT_EQ(Make(method)->hybrid, given);
}

TEST_F(SimulationSetupTest, TheJobHasTheClustersShapeAndKeepsThePolicysOrder) {
  setup_.cluster.data_parallel = 2;
  setup_.cluster.virtual_stages = 2;
  setup_.cluster.sync_domain = SyncDomain::kMicroBatch;
  setup_.micro_batches = 8;
  SimulationMethod method = BalancedMethod();
  auto spec = Make(method);
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->data_parallel, 2);
  EXPECT_EQ(spec->pipeline_parallel, 4);
  EXPECT_EQ(spec->virtual_pipeline_group, 4);
  EXPECT_EQ(spec->policy.balanced.virtual_stages, 2);
  EXPECT_EQ(spec->policy.balanced.sync_domain, SyncDomain::kMicroBatch);
  EXPECT_FALSE(spec->policy.balanced.place);
  method.balanced.max_in_flight_tokens = 500'000;
  EXPECT_TRUE(Make(method)->policy.balanced.place);
  method.placing = MicroBatchPlacing::kGiven;
  EXPECT_FALSE(Make(method)->policy.balanced.place);
}

TEST_F(SimulationSetupTest, RefusesWhatNoNewJobMayHave) {
  SimulationMethod method = BalancedMethod();
  method.balanced.release = ReleaseMode::kByClass;
  method.balanced.token_spread_ppm = 50'000;
  EXPECT_THAT(Make(method), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("token_spread_ppm")));
}

TEST_F(SimulationSetupTest, RefusesWhatTheEngineRefuses) {
  setup_.queue_thresholds = {98304, 49152};
  EXPECT_THAT(Make(WlbMethod()), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("queue_thresholds")));
}

}  // namespace
}  // namespace evenpack
