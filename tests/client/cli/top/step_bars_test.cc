#include "client/cli/top/step_bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "evenpack/v1/observation.pb.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Bars of 40 columns.
constexpr FrameStyle kStyle = {74, 24, false, false};

v1::ObservedStep& AddStep(v1::ObserveJobResponse& observed, int micro_batches,
                          int64_t workload_ns) {
  v1::ObservedStep& step = *observed.add_steps();
  step.set_index(static_cast<uint64_t>(observed.steps_size() - 1));
  step.set_imbalance(1);
  for (int i = 0; i < micro_batches; ++i) {
    step.add_workload_ns(workload_ns);
    step.add_tokens(1000);
  }
  return step;
}

TEST(StepBarsTest, ABarIsTheMeanThenTheSlowestThenOriginals) {
  v1::ObserveJobResponse observed;
  v1::ObservedStep& step = AddStep(observed, 3, 10);
  step.set_workload_ns(1, 40);
  step.set_imbalance(2);
  for (const int64_t workload : {80, 10, 10}) step.add_original_workload_ns(workload);
  step.set_original_imbalance(2.4);
  // Of 80: 20, up to 40, up to 80.
  EXPECT_THAT(StepBars(observed, kStyle).lines,
              ElementsAre("      0         ##########++++++++++...................."
                          "    2.000    2.400"));
}

TEST(StepBarsTest, TheLastStepComesFirstAndAllHaveOneScale) {
  v1::ObserveJobResponse observed;
  AddStep(observed, 2, 100).set_kind(v1::STEP_KIND_DRAIN);
  AddStep(observed, 2, 25).set_kind(v1::STEP_KIND_BACKLOG);
  EXPECT_THAT(StepBars(observed, kStyle).lines,
              ElementsAre("      1 backlog ##########                              "
                          "    1.000",
                          "      0 drain   ########################################"
                          "    1.000"));
}

TEST(StepBarsTest, WithoutStepsOrWorkThereIsNoBar) {
  v1::ObserveJobResponse observed;
  EXPECT_THAT(StepBars(observed, kStyle).lines, IsEmpty());
  EXPECT_THAT(MicroBatchBars(observed, kStyle).lines, IsEmpty());
  // One whose columns the server has forgotten.
  AddStep(observed, 0, 0);
  EXPECT_THAT(StepBars(observed, kStyle).lines, SizeIs(1));
  EXPECT_THAT(MicroBatchBars(observed, kStyle).lines, IsEmpty());
}

TEST(MicroBatchBarsTest, FewHaveALineEachWithOriginalsBehind) {
  v1::ObserveJobResponse observed;
  v1::ObservedStep& step = AddStep(observed, 2, 1'000'000);
  step.add_original_workload_ns(4'000'000);
  step.add_original_workload_ns(500'000);
  const FrameSection section = MicroBatchBars(observed, kStyle);
  EXPECT_THAT(section.title, StartsWith("step 0"));
  EXPECT_THAT(
      section.lines,
      ElementsAre("              0 #####...............        1.0 ms      1,000"
                  "       4.0 ms",
                  "              1 #####                       1.0 ms      1,000"
                  "       0.5 ms"));
}

TEST(MicroBatchBarsTest, ManyHaveAColumnEach) {
  v1::ObserveJobResponse observed;
  v1::ObservedStep& step = AddStep(observed, 16, 50);
  step.add_original_workload_ns(100);
  for (int i = 1; i < 16; ++i) step.add_original_workload_ns(0);
  const FrameSection section = MicroBatchBars(observed, kStyle);
  EXPECT_THAT(section.title, HasSubstr("16 micro-batches, the slowest 0.0 ms"));
  EXPECT_THAT(section.lines,
              ElementsAre("       workload ================", "       original @"));
}

TEST(MicroBatchBarsTest, MoreThanColumnsAreShownByTheHeaviestOfNeighbours) {
  v1::ObserveJobResponse observed;
  v1::ObservedStep& step = AddStep(observed, 116, 50);
  step.set_workload_ns(115, 100);
  EXPECT_THAT(MicroBatchBars(observed, kStyle).lines,
              ElementsAre("       workload " + std::string(57, '=') + "@"));
}

TEST(MicroBatchBarsTest, AScreenWithoutRoomForBarsHasNone) {
  v1::ObserveJobResponse observed;
  AddStep(observed, 2, 100);
  const FrameStyle narrow = {20, 24, false, false};
  EXPECT_THAT(StepBars(observed, narrow).lines, ElementsAre("      0"));
  EXPECT_THAT(MicroBatchBars(observed, narrow).lines, SizeIs(2));
}

}  // namespace
}  // namespace evenpack
