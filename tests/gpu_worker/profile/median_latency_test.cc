#include "gpu_worker/profile/median_latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeClock;
using evenpack::testing::StatusIs;
using ::testing::ElementsAre;

// The median where the runs take so long, the warm-up first.
int64_t MedianOf(const std::vector<int64_t>& latencies, uint32_t warm_up) {
  FakeClock clock;
  size_t next = 0;
  const auto counted = static_cast<uint32_t>(latencies.size()) - warm_up;
  const auto median = MedianLatencyNs(
      clock, {warm_up, counted},
      [&] {
        clock.Advance(std::chrono::hours(1));
        return absl::OkStatus();
      },
      [&] {
        clock.Advance(std::chrono::nanoseconds(latencies[next++]));
        return absl::OkStatus();
      });
  EXPECT_EQ(next, latencies.size());
  return median.value();
}

TEST(MedianLatencyTest, CountsNeitherWarmUpNorPreparation) {
  EXPECT_EQ(MedianOf({5}, 0), 5);
  EXPECT_EQ(MedianOf({900, 5, 3, 4}, 1), 4);
  EXPECT_EQ(MedianOf({9, 9, 1, 100}, 2), 1);
  EXPECT_EQ(MedianOf({7, 1, 3, 5}, 0), 3);
}

TEST(MedianLatencyTest, TheFirstErrorEndsIt) {
  FakeClock clock;
  std::vector<std::string> log;
  const auto step = [&log](const std::string& name, size_t fails_at) {
    return [&log, name, fails_at]() -> absl::Status {
      log.push_back(name);
      return log.size() == fails_at ? absl::InternalError(name) : absl::OkStatus();
    };
  };
  EXPECT_THAT(MedianLatencyNs(clock, {1, 3}, step("prepare", 3), step("run", 0)),
              StatusIs(absl::StatusCode::kInternal, "prepare"));
  EXPECT_THAT(log, ElementsAre("prepare", "run", "prepare"));
  log.clear();
  EXPECT_THAT(MedianLatencyNs(clock, {1, 3}, step("prepare", 0), step("run", 2)),
              StatusIs(absl::StatusCode::kInternal, "run"));
  EXPECT_THAT(log, ElementsAre("prepare", "run"));
}

}  // namespace
}  // namespace evenpack::worker
