#include "server/core/engine/admission_rule.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

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

TEST(BufferIsFullTest, WhereAnyLimitIsReached) {
  const struct {
    uint64_t tokens, documents, bytes;
    bool full;
  } cases[] = {
      // 3 documents of 90 tokens.
      {0, 0, 0, false},      {90, 0, 0, true},    {91, 0, 0, false},
      {1000, 3, 0, true},    {1000, 4, 0, false}, {1000, 0, 192, true},
      {1000, 0, 193, false}, {91, 4, 193, false},
  };
  for (const auto& c : cases) {
    JobState state;
    state.spec = MakeSpec(PolicyKind::kWlb, 2, 20);
    state.spec.max_buffered_tokens = c.tokens;
    state.spec.max_buffered_documents = c.documents;
    state.spec.max_buffered_bytes = c.bytes;
    state.streams.resize(2);
    state.streams[1].buffer.PushBack(testing::MakeDocuments({50, 30, 10}));
    EXPECT_FALSE(BufferIsFull(state, 0));
    EXPECT_EQ(BufferIsFull(state, 1), c.full) << c.tokens << " " << c.documents;
  }
}

TEST(BufferIsFullTest, TheDefaultIsFourTimesWhatAStepCanNeed) {
  JobState state;
  state.spec = MakeSpec(PolicyKind::kFixedGreedy, 2, 20);
  state.spec.policy.window_batches = 3;
  state.streams.resize(1);
  state.streams[0].buffer.PushBack(testing::MakeDocuments({479}));
  EXPECT_FALSE(BufferIsFull(state, 0));
  state.streams[0].buffer.PushBack(testing::MakeDocuments({1}));
  EXPECT_TRUE(BufferIsFull(state, 0));
}

// Producers that stop at full buffers never stop the job: whatever the weights, the
// merge and the policy, and with limits as low as can be.
TEST(BufferIsFullTest, FullStreamsCanAlwaysFormAStep) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto policy = static_cast<PolicyKind>(testing::Draw(random, 0, 2));
    JobSpec spec =
        MakeSpec(policy, testing::Draw(random, 1, 4), testing::Draw(random, 5, 40));
    spec.merge = static_cast<MergeMode>(testing::Draw(random, 0, 1));
    spec.streams.clear();
    for (uint32_t s = testing::Draw(random, 1, 4); s > 0; --s) {
      spec.streams.push_back(
          {std::string(1, static_cast<char>('a' + s)),
           testing::Draw(random, 0, 1) == 0 ? 1 : testing::Draw(random, 1, 1'000'000)});
    }
    spec.policy.queue_thresholds = {testing::Draw(random, 1, 30)};
    spec.policy.window_batches = testing::Draw(random, 1, 4);
    const uint64_t need = WindowTokens(spec);
    const uint32_t kind = testing::Draw(random, 0, 2);
    if (kind == 0) spec.max_buffered_tokens = need;
    if (kind == 1) spec.max_buffered_documents = need;
    if (kind == 2) spec.max_buffered_bytes = need * kBufferedDocumentBytes;
    testing::TestJob job(spec);
    for (int round = 0; round < 30; ++round) {
      for (size_t s = 0; s < spec.streams.size(); ++s) {
        while (!BufferIsFull(job.state(), s)) {
          const uint32_t longest = testing::Draw(random, 0, 9) == 0 ? spec.window : 3;
          ASSERT_TRUE(
              job.Ingest({testing::Draw(random, 1, longest)}, spec.streams[s].name)
                  .ok());
        }
      }
      ASSERT_TRUE(job.Do(FormStep{}).ok());
    }
  }
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
