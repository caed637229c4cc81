#include "client/cli/simulation/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "client/cli/simulation/paper_configs.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::GivenLengths;
using ::evenpack::testing::IsOk;

constexpr uint64_t kSteps = 30;

TEST(ComparisonTest, TakesTheBetterShardingForFixedPacking) {
  const SimulationSetup setup = *NamedSetup("7B-128K");
  ProgressBar progress(nullptr, "");
  const SimulationFeed feed = {GivenLengths(), 1, 0, kSteps};
  const auto comparison = Compare(setup, false, feed, progress);
  ASSERT_THAT(comparison, IsOk());
  const auto costs = ClusterCosts::Create(setup.model, setup.cluster, {});
  ASSERT_THAT(costs, IsOk());
  SimulationMethod fixed = PlainMethod();
  fixed.policy = PolicyKind::kFixedGreedy;
  const auto sequence = Simulate(setup, fixed, *costs, 1, feed, progress);
  fixed.sharding = Sharding::kPerDocument;
  const auto document = Simulate(setup, fixed, *costs, 1, feed, progress);
  ASSERT_THAT(sequence, IsOk());
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(comparison->fixed.step_seconds,
            std::min(sequence->step_seconds, document->step_seconds));
  EXPECT_EQ(comparison->fixed_sharding, document->step_seconds < sequence->step_seconds
                                            ? Sharding::kPerDocument
                                            : Sharding::kPerSequence);
}

// WLB-LLM's order of methods, in each of its configurations.
TEST(ComparisonTest, OrdersTheMethodsAsThePaperDoes) {
  for (const PaperConfig& config : PaperConfigs()) {
    SCOPED_TRACE(config.name);
    std::vector<uint32_t> lengths = GivenLengths();
    std::erase_if(lengths, [&](uint32_t length) { return length > config.window; });
    ProgressBar progress(nullptr, "");
    const auto comparison =
        Compare(MakeSetup(config), false, {lengths, 1, 0, kSteps}, progress);
    ASSERT_THAT(comparison, IsOk());
    EXPECT_GT(comparison->FixedSpeedup(), 1);
    EXPECT_GT(comparison->WlbSpeedup(), comparison->FixedSpeedup());
    EXPECT_GT(comparison->BoundSpeedup(), comparison->WlbSpeedup());
    EXPECT_GT(comparison->HybridSpeedup(), comparison->WlbSpeedup() * 1.03);
  }
}

}  // namespace
}  // namespace evenpack
