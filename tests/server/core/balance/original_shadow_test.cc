#include "server/core/balance/original_shadow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "server/core/document/document.h"
#include "server/core/engine/job_layout.h"
#include "tests/testing/given_lengths.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::MakeSpec;
using testing::TestJob;

using Lengths = std::vector<uint32_t>;

// Longer than any document here.
constexpr uint32_t kUncut = kMaxDocumentLength;

std::vector<int64_t> Heaviest(const std::vector<StepBalance>& balances) {
  std::vector<int64_t> heaviest;
  for (const StepBalance& balance : balances) {
    heaviest.push_back(balance.max_workload_ns);
  }
  return heaviest;
}

std::vector<uint64_t> LongDocumentTokens(const std::vector<StepBalance>& balances) {
  std::vector<uint64_t> tokens;
  for (const StepBalance& balance : balances) {
    tokens.push_back(balance.long_document_tokens);
  }
  return tokens;
}

TEST(OriginalShadowTest, CarriesLeftOversToTheNextStep) {
  const WorkloadTable workload = testing::QuadraticWorkload(1'000'000'000, 100);
  OriginalShadow shadow(2, 10, kUncut, workload);
  EXPECT_THAT(shadow.Add(Lengths{6, 6}), ::testing::IsEmpty());
  // 6 | 6, and the 9 waits: with 1 and 10 it makes a step of 9 1 | 10.
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{9})), ElementsAre(6000));
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{1, 10})), ElementsAre(10000));
  // Several steps at once.
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{10, 10, 3, 9, 9, 1})),
              ElementsAre(10000, 9000));
}

// What N x L tokens left over make is a step that admits nothing.
TEST(OriginalShadowTest, StepsOfLeftOversAloneAreNotReturned) {
  OriginalShadow shadow(1, 10, kUncut, testing::QuadraticWorkload(1'000'000'000, 100));
  // 2 | 15, then 15 alone without an admission, then 4 and 7.
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{2, 15, 4, 7})), ElementsAre(2000, 4000));
}

TEST(OriginalShadowTest, OtherCostsHoldForStepsToComeAndLoseNothing) {
  OriginalShadow shadow(2, 10, kUncut, testing::QuadraticWorkload(1'000'000'000, 100));
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{10, 10, 10})), ElementsAre(10000));
  // Attention as dear as the rest at 10 tokens.
  shadow.SetWorkload(testing::QuadraticWorkload(10, 100));
  EXPECT_THAT(Heaviest(shadow.Add(Lengths{10})), ElementsAre(20000));
}

TEST(OriginalShadowTest, TellsTheMicroBatchesOfTheLastStepWhereOneIsReturned) {
  OriginalShadow shadow(2, 10, kUncut, testing::QuadraticWorkload(1'000'000'000, 100));
  MicroBatchSizes last;
  last.tokens = {1};
  EXPECT_THAT(shadow.Add(Lengths{6, 6}, &last), ::testing::IsEmpty());
  EXPECT_THAT(last.tokens, ElementsAre(1));
  EXPECT_EQ(shadow.Add(Lengths{9}, &last).size(), 1U);
  EXPECT_THAT(last.tokens, ElementsAre(6, 6));
  EXPECT_THAT(last.workload_ns, ElementsAre(6000, 6000));
  // 9 1 | 10, 10 | 10 and then 3 9 | 9, where the 1 waits.
  const auto balances = shadow.Add(Lengths{1, 10, 10, 10, 3, 9, 9, 1}, &last);
  ASSERT_FALSE(balances.empty());
  EXPECT_EQ(*std::max_element(last.workload_ns.begin(), last.workload_ns.end()),
            balances.back().max_workload_ns);
}

struct Sums {
  double degrees = 0;
  double max = 0;
  double mean = 0;
  size_t steps = 0;

  void Add(const StepBalance& balance) {
    degrees += balance.ImbalanceDegree();
    max += static_cast<double>(balance.max_workload_ns);
    mean += static_cast<double>(balance.total_workload_ns) /
            static_cast<double>(balance.micro_batches);
    ++steps;
  }
};

// The full steps of a job that packs by `original`.
std::vector<StepBalance> OfJob(const JobSpec& spec,
                               const std::vector<uint32_t>& lengths) {
  TestJob job(spec);
  job.Run(lengths, 1);
  std::vector<StepBalance> balances;
  for (const TestJob::Emitted& emitted : job.emitted()) {
    if (emitted.step.kind != StepKind::kFullBatch) continue;
    balances.push_back(MeasureBalance(emitted.step, spec.workload, spec.window));
  }
  return balances;
}

TEST(OriginalShadowTest, IsTheStepsOfAJobOnTheGivenLengths) {
  const JobSpec spec = MakeSpec(PolicyKind::kOriginal, 4, 131072);
  const std::vector<StepBalance> expected = OfJob(spec, testing::GivenLengths());

  // Global batch after global batch, as another policy admits them; the rest of the
  // documents, less than a batch, is never admitted by a full step.
  OriginalShadow shadow(spec.micro_batches, spec.window, kUncut, spec.workload);
  const Lengths& lengths = testing::GivenLengths();
  std::vector<StepBalance> balances;
  size_t batches = 0;
  size_t at = 0;
  for (size_t end = 0; end < lengths.size();) {
    uint64_t tokens = 0;
    while (end < lengths.size() && tokens < GlobalBatchTokens(spec)) {
      tokens += lengths[end++];
    }
    if (tokens < GlobalBatchTokens(spec)) break;
    const std::vector<StepBalance> formed =
        shadow.Add(std::span(lengths).subspan(at, end - at));
    balances.insert(balances.end(), formed.begin(), formed.end());
    at = end;
    ++batches;
  }
  EXPECT_GT(balances.size(), batches);

  ASSERT_LE(balances.size(), expected.size());
  EXPECT_LE(expected.size() - balances.size(), 2U);
  Sums of_shadow;
  Sums of_job;
  for (size_t i = 0; i < balances.size(); ++i) {
    ASSERT_EQ(balances[i].max_workload_ns, expected[i].max_workload_ns) << i;
    ASSERT_EQ(balances[i].total_workload_ns, expected[i].total_workload_ns) << i;
    of_shadow.Add(balances[i]);
  }
  for (const StepBalance& balance : expected) of_job.Add(balance);
  const double mean = of_shadow.degrees / static_cast<double>(of_shadow.steps);
  EXPECT_THAT(mean, DoubleNear(1.475, 0.005));
  EXPECT_THAT(of_job.degrees / static_cast<double>(of_job.steps),
              DoubleNear(mean, 0.001));
  EXPECT_THAT(of_shadow.max / of_shadow.mean,
              DoubleNear(of_job.max / of_job.mean, 0.001));
}

// Documents longer than the window, which a job cuts in pieces or doesn't.
TEST(OriginalShadowTest, IsTheStepsOfAJobOnOverlongDocumentsToo) {
  for (const bool cuts : {false, true}) {
    SCOPED_TRACE(cuts);
    JobSpec spec = MakeSpec(PolicyKind::kOriginal, 3, 1000);
    spec.split_overlong = cuts;
    if (cuts) spec.max_length = 1100;
    const std::vector<uint32_t> lengths = testing::SkewedLengths(61, 4000, 1500);
    const std::vector<StepBalance> expected = OfJob(spec, lengths);
    OriginalShadow shadow(3, 1000, LongestDocument(spec), spec.workload);
    std::vector<StepBalance> balances;
    std::mt19937_64 random(62);
    for (size_t at = 0; at < lengths.size();) {
      const size_t count =
          std::min<size_t>(testing::Draw(random, 1, 60), lengths.size() - at);
      for (const StepBalance& balance :
           shadow.Add(std::span(lengths).subspan(at, count))) {
        balances.push_back(balance);
      }
      at += count;
    }
    EXPECT_EQ(Heaviest(balances), Heaviest(expected));
    EXPECT_EQ(LongDocumentTokens(balances), LongDocumentTokens(expected));
  }
}

}  // namespace
}  // namespace evenpack
