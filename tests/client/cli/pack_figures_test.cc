#include "client/cli/pack_figures.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

// Of two micro-batches.
StepBalance Balance(int64_t max_ns, int64_t total_ns, uint64_t tokens) {
  StepBalance balance;
  balance.max_workload_ns = max_ns;
  balance.total_workload_ns = total_ns;
  balance.largest_document_ns = max_ns;
  balance.micro_batches = 2;
  balance.tokens = tokens;
  balance.longest_micro_batch = tokens / 2;
  balance.long_document_tokens = tokens / 4;
  return balance;
}

TEST(PackFiguresTest, MeasuresFullSteps) {
  PackTally tally;
  tally.AddStep(StepKind::kFullBatch, Balance(60, 100, 100), 0.1);   // 1.2
  tally.AddStep(StepKind::kFullBatch, Balance(400, 400, 300), 0.3);  // 2
  const PackFigures figures = tally.Figures();
  EXPECT_EQ(figures.steps, 2U);
  ASSERT_TRUE(figures.imbalance.has_value());
  EXPECT_DOUBLE_EQ(figures.imbalance->mean, 1.6);
  EXPECT_DOUBLE_EQ(figures.imbalance->p50, 1.2);
  EXPECT_DOUBLE_EQ(figures.imbalance->p99, 2);
  EXPECT_DOUBLE_EQ(figures.imbalance->max, 2);
  EXPECT_DOUBLE_EQ(figures.imbalance->weighted, 460.0 / 250.0);
  EXPECT_DOUBLE_EQ(*figures.lower_bound_mean, 1.6);
  ASSERT_TRUE(figures.tokens_per_step.has_value());
  EXPECT_DOUBLE_EQ(figures.tokens_per_step->mean, 200);
  EXPECT_DOUBLE_EQ(figures.tokens_per_step->cv, 0.5);
  EXPECT_EQ(figures.tokens_per_step->min, 100U);
  EXPECT_EQ(figures.tokens_per_step->max, 300U);
  EXPECT_DOUBLE_EQ(figures.long_share->p50, 0.25);
  EXPECT_DOUBLE_EQ(figures.decide.mean, 0.2);
  EXPECT_DOUBLE_EQ(figures.decide.p50, 0.1);
  EXPECT_DOUBLE_EQ(figures.decide.p99, 0.3);
  EXPECT_DOUBLE_EQ(figures.predicted_forward_seconds, 460e-9);
}

TEST(PackFiguresTest, CountsOtherStepsApart) {
  PackTally tally;
  tally.AddStep(StepKind::kDrain, Balance(50, 50, 800), 0.1);
  tally.AddStep(StepKind::kBacklog, Balance(50, 50, 400), 0.1);
  tally.AddStep(StepKind::kBacklog, Balance(50, 50, 400), 0.1);
  const PackFigures figures = tally.Figures();
  EXPECT_DOUBLE_EQ(figures.imbalance_weighted_all.value(), 2);
  EXPECT_DOUBLE_EQ(figures.imbalance_weighted_run, 2);
  EXPECT_EQ(figures.steps, 0U);
  EXPECT_EQ(figures.drain_steps, 1U);
  EXPECT_EQ(figures.backlog_steps, 2U);
  EXPECT_EQ(figures.longest_micro_batch, 400U);
  EXPECT_DOUBLE_EQ(figures.predicted_forward_seconds, 150e-9);
  EXPECT_FALSE(figures.imbalance.has_value());
  EXPECT_FALSE(figures.lower_bound_mean.has_value());
  EXPECT_FALSE(figures.tokens_per_step.has_value());
  EXPECT_FALSE(figures.long_share.has_value());
}

TEST(PackFiguresTest, WeighsAllStepsAndAllButTheDrain) {
  PackTally tally;
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance_weighted_run, 1);
  EXPECT_FALSE(tally.Figures().imbalance_weighted_all.has_value());
  tally.AddStep(StepKind::kFullBatch, Balance(60, 100, 100), 0.1);
  tally.AddStep(StepKind::kBacklog, Balance(90, 100, 100), 0.1);
  tally.AddStep(StepKind::kDrain, Balance(100, 100, 100), 0.1);
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance_weighted_all.value(), 150.0 / 100.0);
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance_weighted_run, 250.0 / 150.0);
}

TEST(PackFiguresTest, LeavesTheFirstStepsOutOfALongRun) {
  PackTally tally;
  const auto add = [&tally](size_t count, int64_t max_ns) {
    for (size_t i = 0; i < count; ++i) {
      tally.AddStep(StepKind::kFullBatch, Balance(max_ns, 100, 100), 0.1);
    }
  };
  add(50, 100);
  add(50, 50);
  // Of 100 steps none is left out.
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance->mean, 1.5);
  add(1, 50);
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance->mean, 1);
  EXPECT_DOUBLE_EQ(tally.Figures().imbalance->weighted, 1);
  EXPECT_DOUBLE_EQ(*tally.Figures().lower_bound_mean, 1);
  EXPECT_DOUBLE_EQ(tally.Figures().tokens_per_step->mean, 100);
}

TEST(PackFiguresTest, WeighsTokenDelayByTokensAndDocumentsByTheirEnd) {
  PackTally tally;
  tally.AddPiece(30, 0, true);
  tally.AddPiece(5, 1, false);
  tally.AddPiece(5, 3, true);
  const PackFigures figures = tally.Figures();
  EXPECT_DOUBLE_EQ(figures.token_delay_mean, 0.5);
  EXPECT_EQ(figures.document_delay.p50, 0U);
  EXPECT_EQ(figures.document_delay.p99, 3U);
  EXPECT_EQ(figures.document_delay.max, 3U);
}

}  // namespace
}  // namespace evenpack
