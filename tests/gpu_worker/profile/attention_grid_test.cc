#include "gpu_worker/profile/attention_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/core/cost/kernel_latency_table.h"
#include "tests/gpu_worker/profile/timed_work.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker::testing {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;

TEST(AttentionGridTest, LengthsDoubleToTheLongest) {
  EXPECT_THAT(GridLengths(1), ElementsAre(128, 256));
  EXPECT_THAT(GridLengths(256), ElementsAre(128, 256));
  EXPECT_THAT(GridLengths(257), ElementsAre(128, 256, 384));
  EXPECT_THAT(GridLengths(1024), ElementsAre(128, 256, 512, 1024));
  EXPECT_THAT(GridLengths(1100), ElementsAre(128, 256, 512, 1024, 1152));
  EXPECT_EQ(GridLengths(131072).back(), 131072U);
}

absl::StatusOr<AttentionGrid> Measured(TimedEngine& engine, FakeClock& clock,
                                       Communicator& communicator) {
  return MeasureAttention(AttentionShape(), {128, 256}, {0, 1}, clock, Device::Host(),
                          engine, communicator, [](const MeasuredSlice&) {});
}

TEST(AttentionGridTest, HasEachSliceBeyondTheLaunch) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    std::vector<MeasuredSlice> shown;
    const auto grid = MeasureAttention(
        AttentionShape(), {128, 256}, {1, 3}, clock, Device::Host(), engine,
        communicator, [&shown](const MeasuredSlice& slice) { shown.push_back(slice); });
    ASSERT_THAT(grid, IsOk());
    EXPECT_THAT(grid->lengths, ElementsAre(128, 256));
    EXPECT_EQ(grid->launch, (PassLatency{100, 300}));
    const auto slice = [](int64_t q_len, int64_t kv_len) {
      const int64_t ns = TimedEngine::SliceNs(q_len, kv_len);
      return PassLatency{ns, 3 * ns};
    };
    EXPECT_THAT(grid->slices, ElementsAre(slice(128, 128), slice(128, 256),
                                          PassLatency(), slice(256, 256)));
    // Many short slices and three by themselves, two passes, four runs of each.
    EXPECT_EQ(engine.calls(), 4 * 2 * 4);
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[1].q_len, 128U);
    EXPECT_EQ(shown[1].kv_len, 256U);
    EXPECT_EQ(shown[1].latency, slice(128, 256));
  });
}

// 200 documents of 128 tokens, say.
TEST(AttentionGridTest, SlicesOfALaunchAddUp) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    const auto grid = Measured(engine, clock, communicator);
    ASSERT_THAT(grid, IsOk());
    const auto table = KernelLatencyTable::FromMeasurements(
        grid->lengths, grid->lengths,
        {grid->slices[0].forward_ns, grid->slices[1].forward_ns, 0,
         grid->slices[3].forward_ns},
        grid->launch.forward_ns);
    ASSERT_THAT(table, IsOk());
    EXPECT_EQ(table->launch_ns() + 200 * table->SliceNs(128, 128),
              TimedEngine::kLaunchNs + 200 * TimedEngine::SliceNs(128, 128));
  });
}

// Of a device with room for all of them, and a clock that is off.
TEST(AttentionGridTest, SlicesThatCostNothingMoreLeaveAllToTheLaunch) {
  for (const int64_t saved : {0, 7}) {
    OnRanks(1, [saved](Communicator& communicator, FakeClock& clock) {
      TimedEngine engine(clock, [saved](const std::vector<int64_t>& slices) {
        return 100 + slices.front() - (slices.size() > 1 ? saved : 0);
      });
      const auto grid = Measured(engine, clock, communicator);
      ASSERT_THAT(grid, IsOk());
      const int64_t one = 100 + TimedEngine::SliceNs(128, 128);
      EXPECT_EQ(grid->launch, (PassLatency{one, 3 * one}));
      EXPECT_EQ(grid->slices[0], PassLatency());
      EXPECT_EQ(grid->slices[3].forward_ns,
                TimedEngine::SliceNs(256, 256) - TimedEngine::SliceNs(128, 128));
    });
  }
}

// Whose tensors are in no cache any more.
TEST(AttentionGridTest, SlicesThatCostMoreTogetherHaveNoLaunch) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock, [](const std::vector<int64_t>& slices) {
      return static_cast<int64_t>(slices.size() * slices.size()) * slices.front();
    });
    const auto grid = Measured(engine, clock, communicator);
    ASSERT_THAT(grid, IsOk());
    EXPECT_EQ(grid->launch, PassLatency());
    EXPECT_EQ(grid->slices[0].forward_ns, TimedEngine::SliceNs(128, 128));
    EXPECT_EQ(grid->slices[3].forward_ns, TimedEngine::SliceNs(256, 256));
  });
}

TEST(AttentionGridTest, TheMedianOverRanksCounts) {
  OnRanks(3, [](Communicator& communicator, FakeClock& clock) {
    // 10, 1 and 4 times as slow.
    TimedEngine engine(clock, std::vector<int64_t>{10, 1, 4}[communicator.rank()]);
    const auto grid = Measured(engine, clock, communicator);
    ASSERT_THAT(grid, IsOk());
    EXPECT_EQ(grid->launch.forward_ns, 400);
    EXPECT_EQ(grid->slices[0].forward_ns, 4 * TimedEngine::SliceNs(128, 128));
  });
}

TEST(AttentionGridTest, AnErrorOfTheEngineEndsIt) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    engine.FailWith(absl::InternalError("broken"));
    EXPECT_THAT(Measured(engine, clock, communicator).status(),
                StatusIs(absl::StatusCode::kInternal, "broken"));
    EXPECT_EQ(engine.calls(), 1);
  });
}

}  // namespace
}  // namespace evenpack::worker::testing
