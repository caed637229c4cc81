#include "server/core/engine/reserve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "server/core/balance/step_balance.h"
#include "server/core/engine/job_layout.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using testing::MakeSpec;
using testing::SketchOf;
using testing::TestJob;

JobSpec BalancedJob() {
  return MakeSpec(PolicyKind::kBalanced, 16, testing::kLongWindow);
}

// Most tokens are those of long documents, of every length.
std::vector<uint32_t> UniformLengths(size_t count) {
  std::mt19937_64 random(5);
  std::vector<uint32_t> lengths;
  for (size_t i = 0; i < count; ++i) {
    lengths.push_back(testing::Draw(random, 1, testing::kLongWindow));
  }
  return lengths;
}

uint64_t ReserveTokens(const JobSpec& spec, const LengthSketch& sketch) {
  ReleaseTerms terms;
  terms.micro_batches = spec.micro_batches;
  terms.capacity = CapacityOf(spec);
  terms.least_tokens = GlobalBatchTokens(spec) / 2;
  terms.most_tokens = uint64_t{spec.max_length} * spec.micro_batches;
  terms.price = {1, 0, spec.policy.balanced.delay_price_ppm};
  return ReserveOf(spec, sketch, terms).tokens;
}

TEST(ReserveTest, IsKeptOfALongStreamAndNotOfOneWithAFewLongDocuments) {
  const JobSpec spec = BalancedJob();
  EXPECT_EQ(ReserveTokens(spec, SketchOf(UniformLengths(5000))),
            GlobalBatchTokens(spec) / 4 * 3);
  EXPECT_EQ(ReserveTokens(
                spec, SketchOf(testing::SkewedLengths(3, 5000, testing::kLongWindow))),
            0U);
  EXPECT_EQ(ReserveTokens(spec, SketchOf({8192})), 0U);
  EXPECT_EQ(ReserveTokens(spec, {}), 0U);
}

// The bucket of the longest has a middle that is longer than any of them.
TEST(ReserveTest, IsKeptWhereTheLongestFillAMicroBatch) {
  JobSpec spec = BalancedJob();
  spec.max_length = testing::kLongWindow;
  std::vector<uint32_t> lengths(20'000, 3);
  lengths.push_back(testing::kLongWindow);
  EXPECT_GT(ReserveTokens(spec, SketchOf(lengths)), 0U);
}

// What the ladder rounds to does not fit below max_length, so the window is the longest
// that is accepted.
TEST(ReserveTest, IsKeptWhereTheLongestAcceptedFillAMicroBatch) {
  JobSpec spec = BalancedJob();
  spec.layout.shape_ladder = {testing::kLongWindow / 2, testing::kLongWindow};
  ASSERT_GT(spec.max_length, LongestDocument(spec));
  std::vector<uint32_t> lengths(20'000, 3);
  lengths.push_back(testing::kLongWindow);
  EXPECT_GT(ReserveTokens(spec, SketchOf(lengths)), 0U);
}

TEST(ReserveTest, IsNotKeptWhereTheJobHasOtherRules) {
  const LengthSketch sketch = SketchOf(UniformLengths(5000));
  const std::function<void(JobSpec&)> rules[] = {
      [](JobSpec& spec) { spec.policy.balanced.release = ReleaseMode::kByLevel; },
      [](JobSpec& spec) { spec.policy.balanced.token_spread_ppm = 50'000; },
      [](JobSpec& spec) { spec.policy.balanced.long_share_spread_ppm = 50'000; },
      [](JobSpec& spec) { spec.max_delay = 1; },
      // The delay would cost more than it saves.
      [](JobSpec& spec) { spec.policy.balanced.delay_price_ppm = 400'000; }};
  for (const auto& rule : rules) {
    JobSpec spec = BalancedJob();
    rule(spec);
    EXPECT_EQ(ReserveTokens(spec, sketch), 0U);
  }
  JobSpec bounded = BalancedJob();
  bounded.max_delay = 2;
  EXPECT_GT(ReserveTokens(bounded, sketch), 0U);
}

// What micro-batches wait for the heaviest, as a share of the work, over full steps.
double ExcessOf(const JobSpec& spec, const std::vector<uint32_t>& lengths) {
  TestJob job(spec);
  job.Run(lengths, 1);
  ExpectExactlyOnce(job, {lengths});
  double heaviest = 0;
  double mean = 0;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    if (emitted.step.kind != StepKind::kFullBatch) continue;
    const StepBalance balance =
        MeasureBalance(emitted.step, emitted.spec->workload, testing::kLongWindow);
    heaviest += static_cast<double>(balance.max_workload_ns);
    mean += static_cast<double>(balance.total_workload_ns) /
            static_cast<double>(balance.micro_batches);
  }
  return heaviest / mean - 1;
}

// As corpora are whose documents are cut at the window: two thirds of the tokens are in
// pieces as long as it, each of which wants a micro-batch of its own.
std::vector<uint32_t> LengthsCutAtTheWindow() {
  std::mt19937_64 random(6);
  std::vector<uint32_t> lengths;
  for (int i = 0; i < 8000; ++i) {
    lengths.push_back(i % 24 == 0 ? testing::kLongWindow
                                  : testing::Draw(random, 1000, 4000));
  }
  std::shuffle(lengths.begin(), lengths.end(), random);
  return lengths;
}

TEST(ReserveTest, DocumentsAsLongAsTheWindowWaitUntilTheyFillAStep) {
  EXPECT_LT(ExcessOf(BalancedJob(), LengthsCutAtTheWindow()), 0.005);
}

// A micro-batch that has one of them has room for nothing else.
TEST(ReserveTest, SoDoTheyWhereNoMicroBatchMayBeLonger) {
  JobSpec spec = BalancedJob();
  spec.max_length = testing::kLongWindow;
  EXPECT_LT(ExcessOf(spec, LengthsCutAtTheWindow()), 0.02);
}

// Batches are full with what fills the micro-batches exactly: steps as large as these
// would leave nothing else to become a reserve.
TEST(ReserveTest, NothingWaitsForOneThatWouldNeverBeBuilt) {
  std::vector<uint32_t> lengths;
  for (int i = 0; i < 4000; ++i) {
    lengths.push_back(testing::kLongWindow);
    lengths.push_back(1);
  }
  TestJob job(BalancedJob());
  job.Run(lengths, 1);
  ExpectExactlyOnce(job, {lengths});
  EXPECT_LT(GreatestDelay(job), 64U);
}

TEST(ReserveTest, MakesStepsOfALongStreamEven) {
  const std::vector<uint32_t> lengths = UniformLengths(3000);
  const JobSpec kept = BalancedJob();
  JobSpec without = kept;
  without.policy.balanced.release = ReleaseMode::kByLevel;
  EXPECT_LT(ExcessOf(kept, lengths), ExcessOf(without, lengths) * 0.8);
}

}  // namespace
}  // namespace evenpack
