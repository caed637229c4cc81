#include "gpu_worker/profile/attention_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

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
    // Launch and three slices, two passes, four runs of each.
    EXPECT_EQ(engine.calls(), 4 * 2 * 4);
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[1].q_len, 128U);
    EXPECT_EQ(shown[1].kv_len, 256U);
    EXPECT_EQ(shown[1].latency, slice(128, 256));
  });
}

TEST(AttentionGridTest, TheMedianOverRanksCounts) {
  OnRanks(3, [](Communicator& communicator, FakeClock& clock) {
    // 10, 1 and 4 times as slow.
    TimedEngine engine(clock, std::vector<int64_t>{10, 1, 4}[communicator.rank()]);
    const auto grid =
        MeasureAttention(AttentionShape(), {128, 256}, {0, 1}, clock, Device::Host(),
                         engine, communicator, [](const MeasuredSlice&) {});
    ASSERT_THAT(grid, IsOk());
    EXPECT_EQ(grid->launch.forward_ns, 400);
    EXPECT_EQ(grid->slices[0].forward_ns, 4 * TimedEngine::SliceNs(128, 128));
  });
}

TEST(AttentionGridTest, AnErrorOfTheEngineEndsIt) {
  OnRanks(1, [](Communicator& communicator, FakeClock& clock) {
    TimedEngine engine(clock);
    engine.FailWith(absl::InternalError("broken"));
    EXPECT_THAT(
        MeasureAttention(AttentionShape(), {128, 256}, {0, 1}, clock, Device::Host(),
                         engine, communicator, [](const MeasuredSlice&) {})
            .status(),
        StatusIs(absl::StatusCode::kInternal, "broken"));
    EXPECT_EQ(engine.calls(), 1);
  });
}

}  // namespace
}  // namespace evenpack::worker::testing
