#include "server/sessions/published_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "server/core/engine/plan_micro_batch.h"
#include "server/core/sharding/plan_digest.h"
#include "tests/server/sessions/made_steps.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::MakeDocuments;
using testing::SmallSpec;
using testing::StatusIs;

// Documents of 30 and 70 tokens, one of 40 of which 10 count in the loss, two empty
// micro-batches; padding of 4 and 2.
Step UnevenStep() {
  Step step;
  step.index = 3;
  step.micro_batches.resize(4);
  step.micro_batches[0].documents = MakeDocuments({30, 70});
  step.micro_batches[0].tokens = 100;
  step.micro_batches[0].padding = 4;
  step.micro_batches[0].workload_ns = 500;
  step.micro_batches[2].documents = MakeDocuments({40});
  step.micro_batches[2].documents[0].loss_tokens = 10;
  step.micro_batches[2].tokens = 40;
  step.micro_batches[2].padding = 2;
  step.micro_batches[2].workload_ns = 700;
  return step;
}

TEST(PublishedStepTest, TotalsAreSumsOverAllMicroBatches) {
  const auto published = Publish(UnevenStep(), GenesisDigest(),
                                 std::make_shared<const JobSpec>(SmallSpec()), {})
                             .value();
  EXPECT_EQ(published->totals.tokens, 140U);
  EXPECT_EQ(published->totals.padding, 6U);
  EXPECT_EQ(published->totals.loss_tokens, 110U);
  EXPECT_EQ(published->totals.sum_squared_lengths, 900U + 4900U + 1600U);
  EXPECT_EQ(published->totals.max_workload_ns, 700);
  EXPECT_EQ(published->totals.total_workload_ns, 1200);
}

TEST(PublishedStepTest, HoldsPlanAndLoadsOfEachMicroBatch) {
  const Step step = UnevenStep();
  const auto spec = std::make_shared<const JobSpec>(SmallSpec());
  const auto published = Publish(step, GenesisDigest(), spec, {}).value();
  ASSERT_EQ(published->plans.size(), 4U);
  ASSERT_EQ(published->rank_loads.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const MicroBatch& micro_batch = step.micro_batches[i];
    const ShardPlan plan = PlanMicroBatch(*spec, micro_batch).value();
    EXPECT_EQ(published->plans[i], plan);
    EXPECT_EQ(published->plan_digests[i], PlanDigest(plan));
    EXPECT_EQ(published->rank_loads[i], RankLoads(plan));
    ASSERT_EQ(published->rank_loads[i].size(), 2U);
    EXPECT_EQ(published->rank_loads[i][0].tokens + published->rank_loads[i][1].tokens,
              micro_batch.tokens);
  }
}

TEST(PublishedStepTest, KeepsTheStepItsSpecWhatCameBeforeAndWhenItWasDecided) {
  const Step step = UnevenStep();
  const auto spec = std::make_shared<const JobSpec>(SmallSpec());
  const Digest128 previous = {1, 2};
  const Clock::TimePoint decided{std::chrono::seconds(7)};
  const auto published = Publish(step, previous, spec, decided).value();
  EXPECT_EQ(published->step, step);
  EXPECT_EQ(published->previous, previous);
  EXPECT_EQ(published->spec, spec);
  EXPECT_EQ(published->decided, decided);
}

TEST(PublishedStepTest, AMicroBatchThatCannotBeShardedIsAnInternalErrorOfItsStep) {
  JobSpec spec = SmallSpec();
  spec.context_parallel = 0;
  EXPECT_THAT(
      Publish(UnevenStep(), GenesisDigest(), std::make_shared<const JobSpec>(spec), {})
          .status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("step 3 can't be sharded: ")));
}

}  // namespace
}  // namespace evenpack
