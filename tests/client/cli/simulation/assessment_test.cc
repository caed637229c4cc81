#include "client/cli/simulation/assessment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/given_lengths.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::GivenLengths;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Assessment Make(const SimulationInput& input) {
  SimulateFlags flags;
  flags.input = input;
  flags.feed.steps = 20;
  auto assessment = Assess(flags, GivenLengths());
  EXPECT_THAT(assessment, IsOk());
  return *std::move(assessment);
}

TEST(AssessmentTest, FindsTheFastestMethod) {
  const Assessment assessment = Make(*ReadSimulationInput("7B-128K"));
  EXPECT_EQ(assessment.methods.size(), 8);
  EXPECT_EQ(assessment.methods.front().method.policy, PolicyKind::kOriginal);
  for (const AssessedMethod& row : assessment.methods) {
    EXPECT_GE(row.figures.step_seconds, assessment.Best().step_seconds);
  }
  EXPECT_EQ(assessment.methods[assessment.best].method.policy, PolicyKind::kBalanced);
  EXPECT_EQ(assessment.methods[assessment.best].method.sharding, Sharding::kHybrid);
  EXPECT_GT(assessment.Speedup(assessment.Best()), 1.1);
}

TEST(AssessmentTest, HasARowForAConfiguredMethodOfItsOwn) {
  SimulationInput input = *ReadSimulationInput("7B-128K");
  input.method = PlainMethod();
  EXPECT_EQ(Make(input).methods.size(), 8);
  input.method.policy = PolicyKind::kFixedGreedy;
  input.method.window_batches = 4;
  const Assessment assessment = Make(input);
  ASSERT_EQ(assessment.methods.size(), 9);
  EXPECT_EQ(assessment.methods.back().method.window_batches, 4);
  EXPECT_EQ(assessment.methods[1].name, "fixed_greedy, per_sequence");
  EXPECT_EQ(assessment.methods.back().name,
            "fixed_greedy, per_sequence, as configured");
}

TEST(AssessmentTest, TellsTheLengthsThatWereGivenWhateverIsLeftOut) {
  SimulationInput input = *ReadSimulationInput("7B-128K");
  const LengthSummary whole = Make(input).lengths;
  SetWindow(8192, input.setup);
  const Assessment assessment = Make(input);
  EXPECT_GT(assessment.corpus.documents_over_window, 0);
  EXPECT_EQ(assessment.lengths.max, whole.max);
  EXPECT_EQ(assessment.lengths.mean, whole.mean);
}

TEST(AssessmentTest, SaysWhatWouldTakeDocumentsLongerThanTheWindow) {
  SimulateFlags flags;
  flags.input = *ReadSimulationInput("7B-128K");
  const std::vector<uint32_t> lengths(30, 200'000);
  const auto code = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Assess(flags, lengths).status(),
              StatusIs(code, HasSubstr("longer ones, which are left out: 30 "
                                       "(--over-window cut has them)")));
  const std::vector<uint32_t> few(1, 200'000);
  flags.over_window = OverWindow::kCut;
  EXPECT_THAT(
      Assess(flags, few).status(),
      StatusIs(code, AllOf(HasSubstr("do not come to"), Not(HasSubstr("left out")))));
}

TEST(AssessmentTest, TellsMethodsApartByTheOptionsOfTheirPolicy) {
  SimulationInput input = *ReadSimulationInput("7B-128K");
  input.method = BalancedMethod();
  EXPECT_EQ(Make(input).methods.size(), 8);
  input.method.balanced.token_spread_ppm = 50'000;
  const Assessment even = Make(input);
  ASSERT_EQ(even.methods.size(), 9);
  EXPECT_LT(even.methods.back().figures.packing.tokens_per_step->cv,
            even.methods[7].figures.packing.tokens_per_step->cv);
  // Which wlb doesn't have.
  input.method.policy = PolicyKind::kWlb;
  input.method.placing = MicroBatchPlacing::kGiven;
  EXPECT_EQ(Make(input).methods.size(), 8);
  input.method.placing = MicroBatchPlacing::kLeast;
  EXPECT_EQ(Make(input).methods.size(), 9);
}

TEST(AssessmentTest, SaysWhatWrongCostsWouldDo) {
  const Assessment assessment = Make(*ReadSimulationInput("7B-128K"));
  ASSERT_EQ(assessment.wrong_costs.size(), 4);
  for (const WrongCost& wrong : assessment.wrong_costs) {
    // The right ones do not know which documents of a micro-batch will be cut.
    EXPECT_GE(wrong.step_seconds, assessment.Best().step_seconds * 0.995);
  }
}

TEST(AssessmentTest, CountsGpuHoursByTokens) {
  const Assessment assessment = Make(*ReadSimulationInput("7B-128K"));
  SimulationFigures figures;
  figures.step_seconds = 3.6;
  // 64 GPUs for 3.6 s, 4 * 131,072 tokens.
  EXPECT_NEAR(assessment.GpuHoursPerTrillion(figures), 0.064 * 1e12 / 524288, 1e-3);
}

}  // namespace
}  // namespace evenpack
