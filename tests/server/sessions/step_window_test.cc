#include "server/sessions/step_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "server/runtime/status_detail.h"
#include "tests/server/sessions/made_steps.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::MakeSteps;
using testing::StatusIs;
using testing::StepPointer;

StepWindow WindowOf(const std::vector<StepPointer>& steps) {
  StepWindow window(steps.front()->step.index, steps.front()->previous);
  for (const StepPointer& step : steps) window.Publish(step);
  return window;
}

TEST(StepWindowTest, IsEmptyAtFirst) {
  const StepWindow window;
  EXPECT_EQ(window.begin(), 0U);
  EXPECT_EQ(window.end(), 0U);
  EXPECT_EQ(window.last_digest(), GenesisDigest());
  EXPECT_EQ(window.DigestBefore(0), GenesisDigest());
  EXPECT_EQ(window.DigestBefore(1), std::nullopt);
  EXPECT_EQ(window.Get(0), nullptr);
}

TEST(StepWindowTest, FindsWhatItHoldsAndTheDigestsAround) {
  const auto steps = MakeSteps(5, 3, {8, 9});
  const StepWindow window = WindowOf(steps);
  EXPECT_EQ(window.begin(), 5U);
  EXPECT_EQ(window.end(), 8U);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(window.Get(5 + i), steps[i]);
    EXPECT_EQ(window.Find(5 + i).value(), steps[i]);
    EXPECT_EQ(window.DigestBefore(5 + i), steps[i]->previous);
  }
  EXPECT_EQ(window.DigestBefore(5), (Digest128{8, 9}));
  EXPECT_EQ(window.DigestBefore(8), steps[2]->step.digest);
  EXPECT_EQ(window.last_digest(), steps[2]->step.digest);
  EXPECT_EQ(window.DigestBefore(4), std::nullopt);
  EXPECT_EQ(window.DigestBefore(9), std::nullopt);
}

TEST(StepWindowTest, AStepLetGoIsOutOfRangeAndNamesTheOldestKept) {
  const auto steps = MakeSteps(0, 4);
  StepWindow window = WindowOf(steps);
  window.LetGo(3);
  EXPECT_EQ(window.begin(), 3U);
  EXPECT_EQ(window.end(), 4U);
  EXPECT_EQ(window.Get(2), nullptr);
  const absl::Status gone = window.Find(2).status();
  EXPECT_THAT(gone, StatusIs(absl::StatusCode::kOutOfRange,
                             "step: 2 was let go, as every rank has made it durable; "
                             "the oldest kept is 3"));
  EXPECT_EQ(DetailOf(gone), (StatusDetail{"STEP_LET_GO", {{"oldest_step", "3"}}}));
  EXPECT_EQ(window.DigestBefore(3), steps[2]->step.digest);
}

TEST(StepWindowTest, KnowsTheEpochOfTheLastStepThatItLetGo) {
  const auto steps = MakeSteps(5, 3);
  StepWindow window = WindowOf(steps);
  EXPECT_EQ(window.EpochBefore(5), std::nullopt);
  EXPECT_EQ(window.EpochBefore(6), steps[0]->step.epoch);
  EXPECT_EQ(window.EpochBefore(8), steps[2]->step.epoch);
  EXPECT_EQ(window.EpochBefore(9), std::nullopt);
  window.LetGo(7);
  EXPECT_EQ(window.EpochBefore(6), std::nullopt);
  EXPECT_EQ(window.EpochBefore(7), steps[1]->step.epoch);
  window.LetGo(8);
  EXPECT_EQ(window.EpochBefore(8), steps[2]->step.epoch);
}

TEST(StepWindowTest, IsToldTheEpochOfAStepThatWasLetGoBefore) {
  const StepWindow window(5, GenesisDigest(), 3);
  EXPECT_EQ(window.EpochBefore(5), 3U);
  EXPECT_EQ(window.EpochBefore(6), std::nullopt);
}

TEST(StepWindowTest, AStepNotDecidedIsOutOfRangeAndNamesTheNext) {
  const absl::Status early = WindowOf(MakeSteps(0, 2)).Find(2).status();
  EXPECT_THAT(early, StatusIs(absl::StatusCode::kOutOfRange,
                              "step: 2 is not decided yet; the next to be is 2"));
  EXPECT_EQ(DetailOf(early), (StatusDetail{"STEP_NOT_DECIDED", {{"next_step", "2"}}}));
}

TEST(StepWindowTest, LettingAllGoKeepsTheDigestAndGoesNoFurtherThanTheEnd) {
  const auto steps = MakeSteps(0, 2);
  StepWindow window = WindowOf(steps);
  window.LetGo(9);
  EXPECT_EQ(window.begin(), 2U);
  EXPECT_EQ(window.end(), 2U);
  EXPECT_EQ(window.DigestBefore(2), steps[1]->step.digest);
  window.LetGo(1);
  EXPECT_EQ(window.begin(), 2U);
  const auto next = MakeSteps(2, 1, steps[1]->step.digest);
  window.Publish(next[0]);
  EXPECT_EQ(window.Get(2), next[0]);
  EXPECT_EQ(window.last_digest(), next[0]->step.digest);
}

TEST(StepWindowTest, WithdrawnStepsAreForgottenAndOthersComeInTheirPlace) {
  const auto steps = MakeSteps(3, 4, {1, 1});
  StepWindow window = WindowOf(steps);
  window.Withdraw(5);
  EXPECT_EQ(window.begin(), 3U);
  EXPECT_EQ(window.end(), 5U);
  EXPECT_EQ(window.last_digest(), steps[1]->step.digest);
  EXPECT_EQ(window.Get(5), nullptr);
  const auto other = MakeSteps(5, 1, {7, 7});
  window.Publish(other[0]);
  EXPECT_EQ(window.Get(5), other[0]);

  window.Withdraw(3);
  EXPECT_EQ(window.begin(), 3U);
  EXPECT_EQ(window.end(), 3U);
  EXPECT_EQ(window.last_digest(), (Digest128{1, 1}));
}

TEST(StepWindowTest, WithdrawingFromTheEndChangesNothing) {
  const auto steps = MakeSteps(0, 2);
  StepWindow window = WindowOf(steps);
  window.Withdraw(2);
  EXPECT_EQ(window.end(), 2U);
  EXPECT_EQ(window.last_digest(), steps[1]->step.digest);
}

}  // namespace
}  // namespace evenpack
