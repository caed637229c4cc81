#include "server/control/step_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StepObservation Made(uint64_t index, size_t micro_batches) {
  StepObservation step;
  step.index = index;
  step.sizes.tokens.assign(micro_batches, 1);
  step.original_sizes.tokens.assign(micro_batches, 2);
  step.imbalance = 1.5;
  return step;
}

// Steps 0 to count - 1.
StepHistory HistoryOf(uint64_t count, size_t micro_batches) {
  StepHistory history;
  for (uint64_t i = 0; i < count; ++i) history.Add(Made(i, micro_batches));
  return history;
}

std::vector<uint64_t> IndicesOf(const StepHistory::Steps& steps) {
  std::vector<uint64_t> indices;
  for (const auto& step : steps) indices.push_back(step->index);
  return indices;
}

// Of all that are held, the first that has columns.
uint64_t FirstWithColumns(const StepHistory& history) {
  for (const auto& step : history.Last(StepHistory::kMaxSteps, 0)) {
    if (!step->sizes.tokens.empty()) return step->index;
  }
  return UINT64_MAX;
}

TEST(StepHistoryTest, ReturnsTheLastStepsInOrder) {
  const StepHistory history = HistoryOf(5, 4);
  EXPECT_THAT(IndicesOf(history.Last(9, 0)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(IndicesOf(history.Last(2, 0)), ElementsAre(3, 4));
  EXPECT_THAT(IndicesOf(history.Last(9, 3)), ElementsAre(3, 4));
  EXPECT_THAT(IndicesOf(history.Last(1, 3)), ElementsAre(4));
  EXPECT_THAT(IndicesOf(history.Last(9, 5)), IsEmpty());
  EXPECT_THAT(IndicesOf(history.Last(0, 0)), IsEmpty());
  EXPECT_THAT(IndicesOf(StepHistory().Last(9, 0)), IsEmpty());
}

TEST(StepHistoryTest, HoldsSoManySteps) {
  const StepHistory history = HistoryOf(StepHistory::kMaxSteps + 10, 4);
  const auto indices = IndicesOf(history.Last(1000, 0));
  EXPECT_EQ(indices.size(), StepHistory::kMaxSteps);
  EXPECT_EQ(indices.front(), 10U);
  EXPECT_EQ(FirstWithColumns(history), 10U);
}

TEST(StepHistoryTest, WithdrawnStepsVanishAndOthersTakeTheirPlace) {
  StepHistory history = HistoryOf(5, 4);
  history.Withdraw(3);
  history.Withdraw(7);
  history.Add(Made(3, 2));
  EXPECT_THAT(IndicesOf(history.Last(9, 0)), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(history.Last(1, 0)[0]->sizes.tokens.size(), 2U);
  history.Withdraw(0);
  EXPECT_THAT(history.Last(9, 0), IsEmpty());
}

TEST(StepHistoryTest, ColumnsOfTheOldestStepsAreForgottenFirst) {
  constexpr size_t kHalf = StepHistory::kMaxMicroBatches / 2;
  StepHistory history = HistoryOf(3, kHalf);
  EXPECT_EQ(FirstWithColumns(history), 1U);
  const auto steps = history.Last(9, 0);
  EXPECT_THAT(steps[0]->original_sizes.tokens, IsEmpty());
  EXPECT_EQ(steps[0]->imbalance, 1.5);
  // One that has them all: those that were read before stay as they were.
  history.Add(Made(3, StepHistory::kMaxMicroBatches));
  EXPECT_EQ(FirstWithColumns(history), 3U);
  EXPECT_EQ(steps[2]->sizes.tokens.size(), kHalf);
  // What was withdrawn makes room.
  history.Withdraw(3);
  for (uint64_t i = 3; i < 7; ++i) history.Add(Made(i, kHalf / 2));
  EXPECT_EQ(FirstWithColumns(history), 3U);
  history.Withdraw(1);
  history.Add(Made(1, 1));
  EXPECT_EQ(FirstWithColumns(history), 1U);
}

TEST(StepHistoryTest, StepsWithoutColumnsLeaveAsOthersDo) {
  constexpr size_t kMany = StepHistory::kMaxMicroBatches / 8;
  const StepHistory history = HistoryOf(2 * StepHistory::kMaxSteps, kMany);
  EXPECT_EQ(IndicesOf(history.Last(1000, 0)).front(), StepHistory::kMaxSteps);
  EXPECT_EQ(FirstWithColumns(history), 2 * StepHistory::kMaxSteps - 8);
}

}  // namespace
}  // namespace evenpack
