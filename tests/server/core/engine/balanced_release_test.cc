#include "server/core/engine/balanced_release.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "server/core/balance/step_balance.h"
#include "server/core/outlier/novelty.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::MakeSpec;
using testing::TestJob;

JobSpec BalancedJob(uint32_t micro_batches) {
  return MakeSpec(PolicyKind::kBalanced, micro_batches, testing::kLongWindow);
}

LengthSketch SketchOfDocuments(const std::vector<Document>& documents) {
  return SketchAfter({}, documents);
}

BalancedPool PoolOf(const std::vector<Document>& documents) {
  BalancedPool pool;
  pool.batches_admitted = 1;
  pool.delay_price_ppm = DelayPriceOf(BalancedJob(1), kMeanDelayAtFirst, 0);
  pool.others = PointTo(documents);
  return pool;
}

TEST(BalancedReleaseTest, TheSketchAgesWithEachBatchAlone) {
  const std::vector<Document> batch = testing::MakeDocuments({100, 200});
  const LengthSketch first = SketchAfter({}, batch);
  EXPECT_EQ(first.weights()[LengthSketch::BucketOf(100)], LengthSketch::kUnit);
  EXPECT_EQ(SketchAfter(first, {}), first);
  EXPECT_EQ(SketchAfter(first, batch).weights()[LengthSketch::BucketOf(100)],
            2 * LengthSketch::kUnit - LengthSketch::kUnit / 64);
}

TEST(BalancedReleaseTest, ThePriceFollowsDelayAndNoveltyWhereBalanceIsWhatIsWaitedFor) {
  JobSpec spec = BalancedJob(4);
  const uint32_t at_first = DelayPriceOf(spec, kMeanDelayAtFirst, 0);
  EXPECT_LT(DelayPriceOf(spec, kMeanDelayAtFirst / 2, 0), at_first);
  EXPECT_EQ(DelayPriceOf(spec, kDelayUnit, 0), spec.policy.balanced.delay_price_ppm);
  EXPECT_LT(DelayPriceOf(spec, kDelayUnit, kNoveltyUnit), at_first);
  spec.policy.balanced.long_share_spread_ppm = 0;
  EXPECT_EQ(DelayPriceOf(spec, kDelayUnit, kNoveltyUnit), at_first);
  spec.policy.balanced.long_share_spread_ppm.reset();
  spec.policy.balanced.token_spread_ppm = 50'000;
  EXPECT_EQ(DelayPriceOf(spec, kDelayUnit, kNoveltyUnit), at_first);
}

TEST(BalancedReleaseTest, PackingLeansOfDocumentsThatDifferInAttention) {
  const JobSpec spec = BalancedJob(4);
  const std::vector<Document> alike =
      testing::MakeDocuments(std::vector<uint32_t>(128, 4096));
  const std::vector<Document> due = testing::MakeDocuments({90'000, 90'000});
  const LengthSketch sketch = SketchOfDocuments(alike);
  BalancedPool pool = PoolOf(alike);
  EXPECT_EQ(ReleaseBalanced(spec, sketch, pool).packing_lean_256ths, 0U);
  pool.due = PointTo(due);
  EXPECT_GT(ReleaseBalanced(spec, sketch, pool).packing_lean_256ths, 0U);
}

TEST(BalancedReleaseTest, ByClassGivesUpTheOldestNOfAClass) {
  JobSpec spec = BalancedJob(2);
  spec.policy.balanced.release = ReleaseMode::kByClass;
  std::vector<uint32_t> lengths(2000, 3000);
  lengths.insert(lengths.end(), 3, 100'000);
  std::vector<Document> documents = testing::MakeDocuments(lengths);
  for (size_t i = 0; i < documents.size(); ++i) documents[i].order = i;
  const LengthSketch sketch = SketchOfDocuments(documents);
  // A class holds three of 100,000: the first two go.
  BalancedRelease release = ReleaseBalanced(spec, sketch, PoolOf(documents));
  ASSERT_EQ(release.held.size(), 1U);
  EXPECT_EQ(release.held[0]->order, 2002U);
  // One alone waits for another, unless nothing is admitted.
  documents.erase(documents.end() - 2, documents.end());
  EXPECT_EQ(ReleaseBalanced(spec, sketch, PoolOf(documents)).held.size(), 1U);
  BalancedPool backlog = PoolOf(documents);
  backlog.kind = StepKind::kBacklog;
  EXPECT_TRUE(ReleaseBalanced(spec, sketch, std::move(backlog)).held.empty());
}

TEST(BalancedReleaseTest, AClassIsShortWhereNothingElseWouldGo) {
  JobSpec spec = BalancedJob(4);
  spec.policy.balanced.release = ReleaseMode::kByClass;
  std::vector<uint32_t> lengths(2000, 3000);
  lengths.insert(lengths.end(), 8, 100'000);
  const LengthSketch sketch = SketchOfDocuments(testing::MakeDocuments(lengths));
  const std::vector<Document> lone = testing::MakeDocuments({100'000});
  EXPECT_EQ(ReleaseBalanced(spec, sketch, PoolOf(lone)).goes.size(), 1U);
}

// Half of a batch of one token is none, and steps without a token would never end.
TEST(BalancedReleaseTest, NothingThatWaitsMakesNoStep) {
  JobSpec spec = MakeSpec(PolicyKind::kBalanced, 1, 1);
  spec.max_length = 5;
  testing::ResolveCosts(spec);
  TestJob job(spec);
  EXPECT_FALSE(WaitingMakesAStep(job.state()));
  EXPECT_THAT(job.Ingest({1, 2, 3}), IsOk());
  EXPECT_THAT(job.End(), IsOk());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_TRUE(IsDrained(job.state()));
}

TEST(BalancedReleaseTest, StepsHoldHalfABatchAtLeastWhereThereIsAsMuch) {
  const std::vector<Document> documents =
      testing::MakeDocuments(std::vector<uint32_t>(5, 120'000));
  const JobSpec spec = BalancedJob(4);
  const BalancedRelease release =
      ReleaseBalanced(spec, SketchOfDocuments(documents), PoolOf(documents));
  EXPECT_EQ(release.goes.size(), 4U);
  EXPECT_EQ(release.terms.least_tokens, GlobalBatchTokens(spec) / 2);
}

// Three documents that fill a micro-batch each, of four, and less than half a batch of
// short ones: with the long ones the step would be uneven, without them it has few.
std::vector<Document> ThreeOfFourAndShortOnes() {
  std::vector<uint32_t> lengths(3, testing::kLongWindow);
  lengths.insert(lengths.end(), 60, 3000);
  return testing::MakeDocuments(lengths);
}

// Of a stream that brings few such, and wants no reserve.
LengthSketch SketchOfFewLong() {
  std::vector<uint32_t> lengths(300, 3000);
  lengths.push_back(testing::kLongWindow);
  return SketchOfDocuments(testing::MakeDocuments(lengths));
}

TEST(BalancedReleaseTest, AStepHasFewTokensWhereHalfABatchWouldBeUneven) {
  const std::vector<Document> documents = ThreeOfFourAndShortOnes();
  const JobSpec spec = BalancedJob(4);
  const BalancedRelease release =
      ReleaseBalanced(spec, SketchOfFewLong(), PoolOf(documents));
  EXPECT_EQ(release.held.size(), 3U);
  EXPECT_EQ(release.goes.size(), 60U);
  EXPECT_EQ(release.terms.least_tokens, GlobalBatchTokens(spec) / 8);
}

TEST(BalancedReleaseTest, NoOtherStepHasFewTokensHoweverUnevenItIs) {
  const std::vector<Document> documents = ThreeOfFourAndShortOnes();
  const LengthSketch sketch = SketchOfFewLong();
  const JobSpec spec = BalancedJob(4);
  BalancedPool waiting = PoolOf(documents);
  waiting.kind = StepKind::kBacklog;
  const BalancedRelease backlog = ReleaseBalanced(spec, sketch, waiting);
  EXPECT_EQ(backlog.terms.least_tokens, GlobalBatchTokens(spec) / 2);
  EXPECT_FALSE(backlog.pays);
  JobSpec of_equal_tokens = spec;
  of_equal_tokens.policy.balanced.token_spread_ppm = 50'000;
  EXPECT_GT(
      ReleaseBalanced(of_equal_tokens, sketch, PoolOf(documents)).terms.least_tokens,
      GlobalBatchTokens(spec) / 2);
  JobSpec of_equal_shares = spec;
  of_equal_shares.policy.balanced.long_share_spread_ppm = 900'000;
  EXPECT_EQ(
      ReleaseBalanced(of_equal_shares, sketch, PoolOf(documents)).terms.least_tokens,
      GlobalBatchTokens(spec) / 2);
}

TEST(BalancedReleaseTest, NothingIsHeldWhereNothingMayWait) {
  JobSpec spec = BalancedJob(4);
  spec.max_delay = 0;
  std::vector<uint32_t> lengths = {120'000};
  lengths.insert(lengths.end(), 140, 3000);
  const std::vector<Document> documents = testing::MakeDocuments(lengths);
  EXPECT_TRUE(ReleaseBalanced(spec, SketchOfDocuments(documents), PoolOf(documents))
                  .held.empty());
  spec.max_delay = 1;
  EXPECT_FALSE(ReleaseBalanced(spec, SketchOfDocuments(documents), PoolOf(documents))
                   .held.empty());
}

TEST(BalancedReleaseTest, EvenTokensOnceEnoughWait) {
  JobSpec spec = BalancedJob(4);
  spec.policy.balanced.token_spread_ppm = 50'000;
  TestJob job(spec);
  job.Run(testing::SkewedLengths(11, 40'000, testing::kLongWindow), 1);
  ExpectExactlyOnce(job, {testing::SkewedLengths(11, 40'000, testing::kLongWindow)});
  std::vector<double> tokens;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    if (emitted.step.kind != StepKind::kFullBatch) continue;
    tokens.push_back(static_cast<double>(StepTokens(emitted.step)));
  }
  const double mean = std::accumulate(tokens.begin(), tokens.end(), 0.0) /
                      static_cast<double>(tokens.size());
  double squares = 0;
  for (const double step : tokens) {
    EXPECT_LE(step, 1.1 * mean);
    squares += (step / mean - 1) * (step / mean - 1);
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(tokens.size())), 0.05);
}

// Where batches run over N x L by more than steps may differ, as long documents make
// them, the steps' tokens are measured from what batches have.
TEST(BalancedReleaseTest, StepsOfEvenTokensTakeWhatBatchesBring) {
  JobSpec spec = BalancedJob(4);
  spec.policy.balanced.token_spread_ppm = 50'000;
  std::mt19937_64 random(9);
  std::vector<uint32_t> lengths;
  for (int i = 0; i < 3000; ++i)
    lengths.push_back(testing::Draw(random, 1, testing::kLongWindow));
  TestJob job(spec);
  job.Run(lengths, 1);
  ExpectExactlyOnce(job, {lengths});
  uint64_t most = 0;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    EXPECT_NE(emitted.step.kind, StepKind::kBacklog);
    most = std::max(most, StepTokens(emitted.step));
  }
  // A batch has 524,288 tokens and 43,700 more.
  EXPECT_GT(most, 560'000);
  EXPECT_LT(most, 610'000);
}

// Full steps in which long documents have half to one and a half times the share of the
// tokens that they have in the stream; then all full steps.
std::pair<size_t, size_t> StepsOfTheStreamsShare(const TestJob& job,
                                                 const std::vector<uint32_t>& lengths) {
  double all = 0;
  double long_ones = 0;
  for (const uint32_t length : lengths) {
    all += length;
    if (IsLongDocument(length, testing::kLongWindow)) long_ones += length;
  }
  std::pair<size_t, size_t> steps = {0, 0};
  for (const TestJob::Emitted& emitted : job.emitted()) {
    if (emitted.step.kind != StepKind::kFullBatch) continue;
    const double share =
        MeasureBalance(emitted.step, emitted.spec->workload, testing::kLongWindow)
            .LongDocumentShare() /
        (long_ones / all);
    ++steps.second;
    if (share >= 0.5 && share <= 1.5) ++steps.first;
  }
  return steps;
}

TEST(BalancedReleaseTest, LongDocumentsHaveTheStreamsShareOfEachStep) {
  const std::vector<uint32_t> lengths =
      testing::SkewedLengths(12, 60'000, testing::kLongWindow);
  JobSpec spec = BalancedJob(16);
  TestJob free(spec);
  free.Run(lengths, 1);
  const auto [few, free_steps] = StepsOfTheStreamsShare(free, lengths);
  EXPECT_LT(few * 2, free_steps);
  spec.policy.balanced.long_share_spread_ppm = 500'000;
  TestJob held(spec);
  held.Run(lengths, 1);
  ExpectExactlyOnce(held, {lengths});
  const auto [most, steps] = StepsOfTheStreamsShare(held, lengths);
  EXPECT_GE(most * 10, steps * 8);
}

TEST(BalancedReleaseTest, SomethingGoesWhereAllAreLongAndTheStreamWasNot) {
  JobSpec spec = BalancedJob(4);
  spec.policy.balanced.long_share_spread_ppm = 0;
  const std::vector<Document> documents = testing::MakeDocuments({120'000, 90'000});
  const LengthSketch sketch = SketchOfDocuments(testing::MakeDocuments({500, 800}));
  EXPECT_FALSE(ReleaseBalanced(spec, sketch, PoolOf(documents)).goes.empty());
}

TEST(BalancedReleaseTest, JobsDrainWhateverTheirPaddingAndBounds) {
  for (const uint32_t spread : {0U, 1U, 1'000'000U}) {
    JobSpec spec = MakeSpec(PolicyKind::kBalanced, 3, 96);
    spec.context_parallel = 4;
    spec.tensor_parallel = 3;
    spec.layout.kind = Layout::kMegatronThd;
    spec.layout.sequence_parallel = true;
    spec.split_overlong = true;
    if (spread > 0) spec.policy.balanced.token_spread_ppm = spread;
    ASSERT_TRUE(Validate(spec).ok()) << Validate(spec);
    const std::vector<uint32_t> lengths = testing::SkewedLengths(4, 200, 400);
    TestJob job(spec);
    job.Run(lengths, 2);
    ExpectExactlyOnce(job, {lengths});
  }
}

TEST(BalancedReleaseTest, WhatWaitsMakesAStepWhereItIsOfALike) {
  // No room for an outlier of a like beside what a batch brings.
  JobSpec spec = BalancedJob(4);
  spec.max_length = spec.window;
  testing::ResolveCosts(spec);
  TestJob job(spec);
  // No more than half a batch waits at first.
  std::vector<uint32_t> lengths(700, 3000);
  lengths[100] = lengths[300] = 120'000;
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_FALSE(WaitingMakesAStep(job.state()));
  ASSERT_THAT(job.Ingest(lengths), IsOk());
  bool made = false;
  while (job.Do(FormStep{}).ok()) {
    made = made || job.emitted().back().step.kind == StepKind::kBacklog;
  }
  EXPECT_TRUE(made);
}

TEST(BalancedReleaseTest, NothingWaitsOutsideItsPolicy) {
  for (const PolicyKind kind :
       {PolicyKind::kOriginal, PolicyKind::kFixedGreedy, PolicyKind::kWlb}) {
    JobSpec spec = MakeSpec(kind, 4, testing::kLongWindow);
    TestJob job(spec);
    ASSERT_THAT(job.Ingest(std::vector<uint32_t>(40, 60'000)), IsOk());
    job.FormAll().IgnoreError();
    EXPECT_FALSE(WaitingMakesAStep(job.state()));
  }
}

}  // namespace
}  // namespace evenpack
