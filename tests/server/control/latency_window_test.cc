#include "server/control/latency_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/core/cost/kernel_latency_table.h"
#include "tests/server/sessions/made_steps.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeSteps;
using testing::SmallSpec;
using testing::StepPointer;

// 1,000 ns for each slice of up to 128 queries.
KernelLatencyTable UnitTable() {
  return KernelLatencyTable::FromGrid({128, 256}, {128, 256},
                                      std::vector<int64_t>(4, 1'000'000), 0)
      .value();
}

// A step of 2 DP ranks with 2 micro-batches each and 2 CP ranks: in each micro-batch
// every rank has 4 slices.
StepPointer MakeStep(uint64_t index, const KernelLatencyTable& table = UnitTable(),
                     bool last_is_empty = false) {
  JobSpec spec = SmallSpec();
  spec.kernel_latency = table;
  Step step = MakeSteps(index, 1).front()->step;
  if (last_is_empty) step.micro_batches.back() = MicroBatch{};
  return Publish(std::move(step), GenesisDigest(),
                 std::make_shared<const JobSpec>(std::move(spec)), {})
      .value();
}

// Of two layers, one pass each forward and backward.
MeasuredAttention Measured(int64_t forward_ns, int64_t waited_ns = 0) {
  return {2, 2, 2 * forward_ns, 4 * forward_ns, 2 * waited_ns};
}

class LatencyWindowTest : public ::testing::Test {
 protected:
  // A rank's two micro-batches, each so long a layer forward, and twice that backward.
  void Report(const StepPointer& step, uint32_t dp_rank, uint32_t cp_rank,
              int64_t forward_ns, int64_t waited_ns = 0) {
    for (uint32_t i = 0; i < 2; ++i) {
      window_.Add(*step, dp_rank, cp_rank, 2 * dp_rank + i,
                  Measured(forward_ns, waited_ns));
    }
  }
  void ReportAll(const StepPointer& step) {
    for (const uint32_t dp_rank : {0U, 1U}) {
      for (const uint32_t cp_rank : {0U, 1U}) Report(step, dp_rank, cp_rank, 4000);
    }
  }
  void LetGo(const std::vector<StepPointer>& steps) { window_.LetGo(steps); }
  std::vector<uint64_t> Indices() {
    std::vector<uint64_t> indices;
    for (const StepLatency& step : window_.Steps(100)) indices.push_back(step.step);
    return indices;
  }
  ExcessFigures Figures(const JobSpec& now = SmallSpec()) {
    JobFigures figures;
    window_.AddTo(&now, figures);
    return figures.excess;
  }

  LatencyWindow window_;
};

TEST_F(LatencyWindowTest, AStepIsSplitOnceAllRanksHaveReported) {
  const StepPointer step = MakeStep(5);
  Report(step, 0, 0, 4000);
  Report(step, 0, 1, 4000);
  // A straggler: 3 times what the others take, of 24,000 ns.
  Report(step, 1, 0, 12000);
  StepLatency latency = window_.Steps(1).front();
  EXPECT_EQ(latency.step, 5U);
  EXPECT_EQ(latency.ranks.size(), 4U);
  EXPECT_EQ(latency.ranks_reported, 3U);
  EXPECT_FALSE(latency.excess.has_value());
  EXPECT_EQ(Figures().steps, 0U);

  Report(step, 1, 1, 4000, 500);
  latency = window_.Steps(1).front();
  EXPECT_EQ(latency.ranks_reported, 4U);
  for (const RankLatency& rank : latency.ranks) {
    EXPECT_EQ(rank.predicted_forward_ns, 2 * 4 * 1000);
  }
  EXPECT_EQ(latency.ranks[2].forward_ns, 24000);
  EXPECT_EQ(latency.ranks[2].backward_ns, 48000);
  EXPECT_EQ(latency.ranks[3].waited_ns, 1000);
  ASSERT_TRUE(latency.excess.has_value());
  EXPECT_EQ(latency.excess->even_ns, 24000);
  EXPECT_EQ(latency.excess->machine_ns, 48000);
  EXPECT_EQ(latency.excess->communication_ns, 0);
  EXPECT_EQ(latency.excess->latest_rank, 2U);
  EXPECT_EQ(latency.excess->late_ns, 48000);
  const ExcessFigures figures = Figures();
  EXPECT_EQ(figures.steps, 1U);
  EXPECT_DOUBLE_EQ(figures.even_seconds, 24e-6);
  EXPECT_DOUBLE_EQ(figures.seconds[3], 48e-6);
  EXPECT_EQ(figures.attention_over_predicted.count(), 4U);
  EXPECT_DOUBLE_EQ(figures.attention_over_predicted.sum(), 1 + 1 + 3 + 1);
}

TEST_F(LatencyWindowTest, AMicroBatchCountsOnce) {
  const StepPointer step = MakeStep(5);
  for (int i = 0; i < 3; ++i) window_.Add(*step, 0, 0, 0, Measured(4000));
  EXPECT_EQ(window_.Steps(1)[0].ranks[0].forward_ns, 4000);
  EXPECT_EQ(window_.Steps(1)[0].ranks_reported, 0U);
  ReportAll(step);
  ReportAll(step);
  EXPECT_EQ(window_.Steps(1)[0].ranks_reported, 4U);
  EXPECT_EQ(Figures().steps, 1U);
}

TEST_F(LatencyWindowTest, MicroBatchesWithoutTokensNeedNoReport) {
  const StepPointer step = MakeStep(5, UnitTable(), /*last_is_empty=*/true);
  for (const uint32_t cp_rank : {0U, 1U}) {
    Report(step, 0, cp_rank, 4000);
    window_.Add(*step, 1, cp_rank, 2, Measured(4000));
  }
  EXPECT_EQ(window_.Steps(1)[0].ranks_reported, 4U);
  EXPECT_TRUE(window_.Steps(1)[0].excess.has_value());
  EXPECT_EQ(window_.Steps(1)[0].ranks[2].predicted_forward_ns, 4000);
}

TEST_F(LatencyWindowTest, AJobWithoutLatenciesHasNoSplit) {
  ReportAll(MakeStep(5, KernelLatencyTable()));
  EXPECT_EQ(window_.Steps(1)[0].ranks_reported, 4U);
  EXPECT_EQ(window_.Steps(1)[0].ranks[0].forward_ns, 8000);
  EXPECT_FALSE(window_.Steps(1)[0].excess.has_value());
  EXPECT_EQ(Figures().steps, 0U);
}

TEST_F(LatencyWindowTest, WithoutPassesThereIsNoTime) {
  const StepPointer step = MakeStep(5);
  window_.Add(*step, 0, 0, 0, {0, 0, 100, 100, 100});
  EXPECT_EQ(window_.Steps(1)[0].ranks[0].forward_ns, 0);
  EXPECT_EQ(window_.Steps(1)[0].ranks[0].waited_ns, 0);
}

TEST_F(LatencyWindowTest, TheLastStepsAreKeptAndOlderOnesForgotten) {
  for (uint64_t index = 0; index < LatencyWindow::kMaxSteps + 3; ++index) {
    window_.Add(*MakeStep(index), 0, 0, 0, Measured(1));
  }
  std::vector<uint64_t> indices = Indices();
  EXPECT_EQ(indices.size(), LatencyWindow::kMaxSteps);
  EXPECT_EQ(indices.front(), 3U);
  // A late report of one that was forgotten does not bring it back.
  window_.Add(*MakeStep(1), 0, 0, 1, Measured(1));
  EXPECT_EQ(Indices(), indices);
  EXPECT_EQ(window_.Steps(2).front().step, LatencyWindow::kMaxSteps + 1);
}

TEST_F(LatencyWindowTest, AStepThatWasLetGoIsReportedOfLater) {
  window_.ExpectReports();
  LetGo({MakeStep(5)});
  EXPECT_THAT(Indices(), IsEmpty()) << "nobody has reported";
  for (uint32_t micro_batch = 0; micro_batch < 4; ++micro_batch) {
    for (const uint32_t cp_rank : {0U, 1U}) {
      window_.AddLate(5, micro_batch / 2, cp_rank, micro_batch, Measured(4000));
    }
  }
  const StepLatency latency = window_.Steps(1).front();
  EXPECT_EQ(latency.step, 5U);
  EXPECT_EQ(latency.ranks_reported, 4U);
  EXPECT_EQ(latency.ranks[3].predicted_forward_ns, 2 * 4 * 1000);
  EXPECT_EQ(latency.ranks[3].forward_ns, 8000);
  EXPECT_TRUE(latency.excess.has_value());
}

TEST_F(LatencyWindowTest, OfAStepThatWasLetGoWhatItHasNotIsPassedOver) {
  window_.ExpectReports();
  LetGo({MakeStep(5)});
  window_.AddLate(4, 0, 0, 0, Measured(1));
  window_.AddLate(5, 0, 2, 0, Measured(1));
  window_.AddLate(5, 0, 0, 2, Measured(1));
  window_.AddLate(5, 2, 0, 4, Measured(1));
  EXPECT_THAT(Indices(), IsEmpty());
}

TEST_F(LatencyWindowTest, WhereNobodyReportsNothingIsKeptOfStepsThatAreLetGo) {
  LetGo({MakeStep(5)});
  window_.AddLate(5, 0, 0, 0, Measured(1));
  EXPECT_THAT(Indices(), IsEmpty());
  // Somebody does.
  LetGo({MakeStep(6)});
  window_.AddLate(6, 0, 0, 0, Measured(1));
  EXPECT_THAT(Indices(), ElementsAre(6));
}

TEST_F(LatencyWindowTest, StepsThatAreLetGoTakeThePlaceOfOlderOnes) {
  ReportAll(MakeStep(0));
  std::vector<StepPointer> steps;
  for (uint64_t index = 0; index < LatencyWindow::kMaxSteps; ++index) {
    steps.push_back(MakeStep(index));
  }
  LetGo(steps);
  EXPECT_THAT(Indices(), ElementsAre(0));
  LetGo({MakeStep(LatencyWindow::kMaxSteps)});
  EXPECT_THAT(Indices(), IsEmpty());
  EXPECT_EQ(Figures().steps, 1U);
}

TEST_F(LatencyWindowTest, OfManyStepsThatAreLetGoAtOnceTheLastAreKept) {
  window_.ExpectReports();
  std::vector<StepPointer> steps;
  for (uint64_t index = 0; index < 3 + LatencyWindow::kMaxSteps; ++index) {
    steps.push_back(MakeStep(index));
  }
  LetGo(steps);
  for (const StepPointer& step : steps) {
    window_.AddLate(step->step.index, 0, 0, 0, Measured(1));
  }
  EXPECT_EQ(Indices().size(), LatencyWindow::kMaxSteps);
  EXPECT_EQ(Indices().front(), 3U);
}

TEST_F(LatencyWindowTest, WithdrawnStepsAreReportedAnew) {
  for (const uint64_t index : {3U, 4U, 5U}) ReportAll(MakeStep(index));
  window_.Withdraw(4);
  EXPECT_THAT(Indices(), ElementsAre(3));
  window_.Add(*MakeStep(4), 0, 0, 0, Measured(1));
  EXPECT_EQ(window_.Steps(1)[0].step, 4U);
  EXPECT_EQ(window_.Steps(1)[0].ranks_reported, 0U);
  window_.Withdraw(0);
  EXPECT_THAT(Indices(), IsEmpty());
  // What was counted stays.
  EXPECT_EQ(Figures().steps, 3U);
}

TEST_F(LatencyWindowTest, TheRanksThatWereLatestMostOftenAreTold) {
  // (1, 0) is late in three steps, (0, 1) in one by more; one step is incomplete.
  for (const uint64_t index : {0U, 1U, 2U, 3U}) {
    const StepPointer step = MakeStep(index);
    const bool first = index == 0;
    Report(step, 0, 0, 4000);
    Report(step, 0, 1, first ? 40000 : 4000);
    Report(step, 1, 0, first ? 4000 : 12000);
    Report(step, 1, 1, 4000);
  }
  Report(MakeStep(4), 0, 0, 90000);
  const ExcessFigures figures = Figures();
  EXPECT_EQ(figures.window_steps, 4U);
  ASSERT_EQ(figures.late_ranks.size(), 2U);
  EXPECT_EQ(figures.late_ranks[0].dp_rank, 1U);
  EXPECT_EQ(figures.late_ranks[0].cp_rank, 0U);
  EXPECT_EQ(figures.late_ranks[0].steps, 3U);
  EXPECT_DOUBLE_EQ(figures.late_ranks[0].mean_seconds, 48e-6);
  EXPECT_EQ(figures.late_ranks[1].cp_rank, 1U);
  EXPECT_EQ(figures.late_ranks[1].steps, 1U);
  EXPECT_DOUBLE_EQ(figures.late_ranks[1].mean_seconds, 216e-6);
  // With the steps their lateness goes.
  window_.Withdraw(1);
  EXPECT_EQ(Figures().window_steps, 1U);
  EXPECT_EQ(Figures().late_ranks.size(), 1U);
}

TEST_F(LatencyWindowTest, AnEvenStepHasNoLateRank) {
  ReportAll(MakeStep(0));
  EXPECT_EQ(Figures().window_steps, 1U);
  EXPECT_THAT(Figures().late_ranks, IsEmpty());
}

TEST_F(LatencyWindowTest, RanksOfAnotherShapeAreNotTold) {
  const StepPointer step = MakeStep(5);
  for (const uint32_t cp_rank : {0U, 1U}) Report(step, 0, cp_rank, 4000);
  Report(step, 1, 0, 12000);
  Report(step, 1, 1, 4000);
  EXPECT_EQ(Figures().late_ranks.size(), 1U);
  JobSpec fewer_replicas = SmallSpec();
  fewer_replicas.data_parallel = 1;
  JobSpec uncut = SmallSpec();
  uncut.context_parallel = 1;
  // As many ranks, of which none was late.
  JobSpec other = SmallSpec();
  other.data_parallel = 4;
  other.context_parallel = 1;
  for (const JobSpec& now : {fewer_replicas, uncut, other}) {
    const ExcessFigures figures = Figures(now);
    EXPECT_THAT(figures.late_ranks, IsEmpty());
    EXPECT_EQ(figures.window_steps, 0U);
    // What was counted stays.
    EXPECT_EQ(figures.steps, 1U);
  }
  JobFigures figures;
  window_.AddTo(nullptr, figures);
  EXPECT_EQ(figures.excess.window_steps, 0U);
  EXPECT_EQ(figures.excess.steps, 1U);
  // What leaves the ranks as they are leaves what is told of them.
  JobSpec longer = SmallSpec();
  longer.window *= 2;
  EXPECT_EQ(Figures(longer).late_ranks.size(), 1U);
}

TEST_F(LatencyWindowTest, StepsOfSeveralEpochsAreNotMixed) {
  const StepPointer old = MakeStep(5);
  Report(old, 1, 1, 4000);
  // One CP rank for two, before the old step is withdrawn.
  JobSpec spec = SmallSpec();
  spec.context_parallel = 1;
  Step step = MakeSteps(5, 1).front()->step;
  step.epoch = 1;
  const StepPointer reshaped =
      Publish(std::move(step), GenesisDigest(),
              std::make_shared<const JobSpec>(std::move(spec)), {})
          .value();
  Report(reshaped, 1, 0, 4000);
  EXPECT_EQ(window_.Steps(1).front().ranks.size(), 2U);
  EXPECT_EQ(window_.Steps(1).front().ranks_reported, 1U);
  Report(old, 1, 1, 9000);
  EXPECT_EQ(window_.Steps(1).front().ranks.size(), 2U);
  EXPECT_EQ(window_.Steps(1).front().ranks_reported, 1U);
}

}  // namespace
}  // namespace evenpack
