#include "server/core/engine/admission_rule.h"

#include <gtest/gtest.h>

#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::MakeSpec;

TEST(DueBeforeBatchTest, CountsFromTheNextWindow) {
  const struct {
    PolicyKind policy;
    uint32_t window_batches;
    uint64_t max_delay;
    uint64_t batches;
    uint64_t expected;
  } cases[] = {
      // After 5 batches the next is number 5; with a bound of 0 all before it are due.
      {PolicyKind::kWlb, 1, 0, 5, 5},
      {PolicyKind::kWlb, 1, 2, 5, 3},
      {PolicyKind::kWlb, 1, 9, 5, 0},
      {PolicyKind::kWlb, 8, 2, 5, 3},  // windows are of fixed_greedy alone
      {PolicyKind::kFixedGreedy, 4, 3, 4, 4},
      {PolicyKind::kFixedGreedy, 4, 5, 4, 2},
  };
  for (const auto& c : cases) {
    JobSpec spec = MakeSpec(c.policy, 2, 100);
    spec.policy.window_batches = c.window_batches;
    EXPECT_EQ(DueBeforeBatch(spec, c.batches), 0U) << "without a bound";
    spec.max_delay = c.max_delay;
    EXPECT_EQ(DueBeforeBatch(spec, c.batches), c.expected);
  }
}

// A job with 120 tokens left over and 90 queued, all of batch 0, after one batch.
JobState Waiting210(PolicyKind policy) {
  JobState state;
  state.created = true;
  state.spec = MakeSpec(policy, 2, 100);
  state.position.batches_admitted = 1;
  state.waiting.left_over = testing::MakeDocuments({100, 20});
  state.waiting.queues.resize(1);
  state.waiting.queues[0].PushBack(testing::MakeDocuments({90}));
  return state;
}

TEST(AdmissionTargetTest, LeftOversCountForFixedLengthPoliciesOnly) {
  EXPECT_EQ(AdmissionTarget(Waiting210(PolicyKind::kWlb)), 200U);
  JobState fixed = Waiting210(PolicyKind::kFixedGreedy);
  fixed.waiting.queues.clear();
  EXPECT_EQ(AdmissionTarget(fixed), 80U);
  fixed.spec.policy.window_batches = 3;
  EXPECT_EQ(AdmissionTarget(fixed), 480U);
  fixed.waiting.left_over = testing::MakeDocuments({400, 300});
  EXPECT_EQ(AdmissionTarget(fixed), 0U);
  EXPECT_TRUE(AdmitsNothing(fixed));
}

TEST(AdmitsNothingTest, AboveTheBacklogLimit) {
  JobState state = Waiting210(PolicyKind::kWlb);
  state.spec.backlog_limit = 1.05;  // 210 tokens: not above
  EXPECT_FALSE(AdmitsNothing(state));
  state.spec.backlog_limit = 1.04;
  EXPECT_TRUE(AdmitsNothing(state));
}

TEST(AdmitsNothingTest, WhereADocumentIsDue) {
  JobState state = Waiting210(PolicyKind::kWlb);
  state.spec.max_delay = 1;
  EXPECT_FALSE(AdmitsNothing(state));
  state.spec.max_delay = 0;
  EXPECT_TRUE(AdmitsNothing(state));
}

TEST(MustWaitTest, WhileMoreMayComeAndTokensAreTooFew) {
  JobState state;
  state.streams.resize(2);
  state.streams[0].buffer.PushBack(testing::MakeDocuments({60}));
  state.streams[1].buffer.PushBack(testing::MakeDocuments({30}));
  EXPECT_EQ(BufferedTokens(state), 90U);
  EXPECT_TRUE(MustWait(state, 91));
  EXPECT_FALSE(MustWait(state, 90));
  state.streams[0].ended = true;
  EXPECT_TRUE(MustWait(state, 91));
  state.streams[1].ended = true;
  EXPECT_FALSE(MustWait(state, 91));
}

}  // namespace
}  // namespace evenpack
