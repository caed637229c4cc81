#include "client/cli/simulation/simulated_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "client/cli/simulation/paper_configs.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::GivenLengths;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

constexpr uint64_t kSteps = 30;

class SimulatedRunTest : public ::testing::Test {
 protected:
  SimulationFigures Run(const SimulationMethod& method, double attention_scale = 1) {
    ProgressBar progress(nullptr, "");
    auto costs = ClusterCosts::Create(setup_.model, setup_.cluster, setup_.attention);
    EXPECT_THAT(costs, IsOk());
    auto figures = Simulate(setup_, method, *costs, attention_scale,
                            {GivenLengths(), 1, 0, kSteps}, progress);
    EXPECT_THAT(figures, IsOk());
    return *std::move(figures);
  }

  SimulationSetup setup_ = *NamedSetup("7B-128K");
};

TEST_F(SimulatedRunTest, SplitsAStepsTimeIntoItsParts) {
  for (const SimulationMethod& method : {PlainMethod(), WlbMethod()}) {
    SCOPED_TRACE(MethodName(method));
    const SimulationFigures figures = Run(method);
    EXPECT_NEAR(figures.step_seconds,
                figures.bound_seconds + figures.packing_seconds +
                    figures.cp_sharding_seconds + figures.pipeline_seconds +
                    figures.communication_seconds,
                1e-9);
    EXPECT_LT(figures.bound_seconds, figures.step_seconds);
    EXPECT_GT(figures.exposed_communication_seconds, 0);
    EXPECT_THAT(figures.bubble, AllOf(Ge(0.2), Le(0.6)));
    EXPECT_EQ(figures.steps, kSteps);
    EXPECT_EQ(figures.packing.steps, kSteps);
  }
}

TEST_F(SimulatedRunTest, KeepsToTheBoundsOfTheMethod) {
  EXPECT_LE(Run(PlainMethod()).longest_micro_batch, setup_.window);
  const SimulationFigures wlb = Run(WlbMethod());
  EXPECT_THAT(wlb.longest_micro_batch, AllOf(Ge(setup_.window), Le(setup_.max_length)));
  EXPECT_LE(wlb.in_flight_tokens, uint64_t{4} * setup_.max_length);
}

TEST_F(SimulatedRunTest, KeepsNoMoreTokensInFlightThanABalancedJobMay) {
  setup_.cluster.data_parallel = 2;
  setup_.micro_batches = 16;
  SimulationMethod method = BalancedMethod();
  const SimulationFigures unbounded = Run(method);
  EXPECT_GT(unbounded.in_flight_tokens, 520'000U);
  for (const MicroBatchPlacing placing :
       {MicroBatchPlacing::kLeast, MicroBatchPlacing::kGiven}) {
    method.placing = placing;
    for (const uint64_t most : {520'000U, 200'000U}) {
      SCOPED_TRACE(most);
      method.balanced.max_in_flight_tokens = most;
      EXPECT_LE(Run(method).in_flight_tokens, most);
    }
  }
}

TEST_F(SimulatedRunTest, CountsHowMicroBatchesWereSharded) {
  SimulationMethod method = WlbMethod();
  EXPECT_THAT(Run(method).per_document_share, AllOf(Ge(0.05), Le(0.95)));
  method.sharding = Sharding::kPerDocument;
  EXPECT_EQ(Run(method).per_document_share, 1);
  method.sharding = Sharding::kPerSequence;
  EXPECT_EQ(Run(method).per_document_share, 0);
}

TEST_F(SimulatedRunTest, TakesStepsInTheOrderThatIsShortest) {
  SimulationMethod placed = WlbMethod();
  placed.placing = MicroBatchPlacing::kLeast;
  for (const uint32_t ranks : {1U, 2U}) {
    SCOPED_TRACE(ranks);
    setup_.cluster.data_parallel = ranks;
    setup_.micro_batches = 4 * ranks;
    for (const SyncDomain domain : {SyncDomain::kStep, SyncDomain::kMicroBatch}) {
      setup_.cluster.sync_domain = domain;
      const SimulationFigures given = Run(WlbMethod());
      const SimulationFigures least = Run(placed);
      EXPECT_LT(least.step_seconds, given.step_seconds * 0.995);
      // It is the same work.
      EXPECT_EQ(least.bound_seconds, given.bound_seconds);
      EXPECT_EQ(least.pp_imbalance, given.pp_imbalance);
    }
  }
}

TEST_F(SimulatedRunTest, ScoresWrongDecisionsByTheRightCosts) {
  // Queues pair long documents whatever they cost.
  setup_.queue_thresholds = {};
  const SimulationFigures right = Run(WlbMethod());
  // So wrong that attention counts for nothing.
  const SimulationFigures wrong = Run(WlbMethod(), 1e-6);
  EXPECT_GT(wrong.step_seconds, right.step_seconds * 1.02);
}

TEST_F(SimulatedRunTest, ComparesStepsOfUnequalTokens) {
  // Whole documents fill plain micro-batches less than the window; the same documents
  // take as long for as many tokens however many micro-batches they come to, if all
  // micro-batches are one document each.
  setup_.queue_thresholds = {};
  const std::vector<uint32_t> half(4096, setup_.window / 2 + 1);
  ProgressBar progress(nullptr, "");
  const auto costs = ClusterCosts::Create(setup_.model, setup_.cluster, {});
  ASSERT_THAT(costs, IsOk());
  const auto figures =
      Simulate(setup_, PlainMethod(), *costs, 1, {half, 1, 0, 10}, progress);
  ASSERT_THAT(figures, IsOk());
  EXPECT_NEAR(figures->pp_imbalance, 1, 1e-6);
  EXPECT_NEAR(figures->packing.tokens_per_step->mean, 4.0 * half[0], 1);
  // A step of N x L tokens is nearly two of these.
  EXPECT_NEAR(figures->bound_seconds / figures->step_seconds, 1, 0.1);
}

TEST_F(SimulatedRunTest, RefusesTooFewDocuments) {
  ProgressBar progress(nullptr, "");
  const auto costs = ClusterCosts::Create(setup_.model, setup_.cluster, {});
  ASSERT_THAT(costs, IsOk());
  const std::vector<uint32_t> few = {100, 200};
  EXPECT_THAT(Simulate(setup_, WlbMethod(), *costs, 1, {few, 1, 0, {}}, progress),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the documents of at most 131072 tokens do not come to 524288 "
                       "tokens, one step"));
  SimulationMethod windows = WlbMethod();
  windows.policy = PolicyKind::kFixedGreedy;
  windows.window_batches = 8;
  const std::vector<uint32_t> one_step(40, 16384);
  EXPECT_THAT(Simulate(setup_, windows, *costs, 1, {one_step, 1, 0, {}}, progress),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the documents of at most 131072 tokens do not come to 4194304 "
                       "tokens, one window of 8 steps"));
}

}  // namespace
}  // namespace evenpack
