#include "server/core/balance/step_excess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace evenpack {
namespace {

struct Case {
  std::string what;
  size_t group_size;
  // predicted, computed, waited.
  std::vector<RankTime> ranks;
  int64_t step;
  int64_t even;
  int64_t packing;
  int64_t cp_sharding;
  int64_t communication;
  int64_t machine;
  size_t latest_rank;
  int64_t late;
};

TEST(StepExcessTest, SplitsByHand) {
  const Case cases[] = {
      {"as predicted",
       2,
       {{10, 10, 0}, {10, 10, 0}, {10, 10, 0}, {10, 10, 0}},
       10,
       10,
       0,
       0,
       0,
       0,
       0,
       0},
      {"a machine of half the speed is even",
       2,
       {{10, 20, 0}, {10, 20, 0}},
       20,
       20,
       0,
       0,
       0,
       0,
       0,
       0},
      // Mean 15, groups of mean 20 and 10.
      {"packing",
       2,
       {{20, 20, 0}, {20, 20, 0}, {10, 10, 0}, {10, 10, 0}},
       20,
       15,
       5,
       0,
       0,
       0,
       0,
       0},
      // Mean 20 in both groups; one has a rank of 30. Its peer waits for it, nobody
      // else.
      {"sharding",
       2,
       {{30, 30, 0}, {10, 10, 20}, {20, 20, 0}, {20, 20, 0}},
       30,
       20,
       0,
       10,
       0,
       0,
       0,
       0},
      // Mean 20, group means 30 and 10, heaviest rank 40.
      {"packing and sharding",
       2,
       {{40, 40, 0}, {20, 20, 20}, {10, 10, 0}, {10, 10, 0}},
       40,
       20,
       10,
       10,
       0,
       0,
       0,
       0},
      {"an exchange that all wait for",
       2,
       {{10, 10, 7}, {10, 10, 5}},
       15,
       10,
       0,
       0,
       5,
       0,
       0,
       0},
      // Rank 1 takes three times what it should; its peer waits for it.
      {"a straggler",
       2,
       {{10, 10, 22}, {10, 30, 2}, {10, 10, 1}, {10, 10, 1}},
       32,
       10,
       0,
       0,
       2,
       20,
       1,
       20},
      // It has less to do than others: of its 20 too many, 10 are hidden.
      {"a straggler with little work",
       2,
       {{20, 20, 10}, {10, 30, 0}, {20, 20, 0}, {20, 20, 0}},
       30,
       17,
       3,
       0,
       0,
       10,
       1,
       20},
      // The heavy group was faster than predicted: the step was no longer than 18.
      {"a prediction that does not come true",
       1,
       {{10, 10, 0}, {10, 10, 0}, {40, 18, 0}},
       18,
       18,
       0,
       0,
       0,
       0,
       0,
       0},
      {"the lower median of an even number",
       1,
       {{10, 10, 0}, {10, 30, 0}},
       30,
       10,
       0,
       0,
       0,
       20,
       1,
       20},
      {"ranks without work have no say",
       1,
       {{0, 0, 0}, {10, 20, 0}, {0, 0, 0}},
       20,
       6,
       14,
       0,
       0,
       0,
       0,
       0},
      {"the slowest group has less work, and waits",
       1,
       {{20, 20, 0}, {10, 10, 15}},
       25,
       10,
       0,
       0,
       15,
       0,
       0,
       0},
  };
  for (const Case& each : cases) {
    const auto excess = SplitExcess(each.ranks, each.group_size);
    ASSERT_TRUE(excess.has_value()) << each.what;
    EXPECT_EQ(excess->step_ns, each.step) << each.what;
    EXPECT_EQ(excess->even_ns, each.even) << each.what;
    EXPECT_EQ(excess->packing_ns, each.packing) << each.what;
    EXPECT_EQ(excess->cp_sharding_ns, each.cp_sharding) << each.what;
    EXPECT_EQ(excess->communication_ns, each.communication) << each.what;
    EXPECT_EQ(excess->machine_ns, each.machine) << each.what;
    EXPECT_EQ(excess->latest_rank, each.latest_rank) << each.what;
    EXPECT_EQ(excess->late_ns, each.late) << each.what;
  }
}

TEST(StepExcessTest, WithoutAPredictionOrAMeasurementThereIsNone) {
  const std::vector<RankTime> unpredicted = {{0, 10, 0}, {0, 20, 5}};
  EXPECT_FALSE(SplitExcess(unpredicted, 2).has_value());
  const std::vector<RankTime> unmeasured = {{10, 0, 0}, {10, 0, 0}};
  EXPECT_FALSE(SplitExcess(unmeasured, 1).has_value());
  EXPECT_FALSE(SplitExcess({}, 1).has_value());
}

TEST(StepExcessTest, AScaleRoundsAndSaturates) {
  EXPECT_EQ((TimeScale{3, 2}).Of(1), 2);
  EXPECT_EQ((TimeScale{4, 3}).Of(1), 1);
  EXPECT_EQ((TimeScale{kMaxRankNs, 1}).Of(kMaxRankNs),
            std::numeric_limits<int64_t>::max());
}

// The parts of random steps add up, none is negative, and a late rank is told by how
// much.
TEST(StepExcessTest, ThePartsAddUp) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const size_t group_size = 1 + random() % 4;
    const size_t groups = 1 + random() % 5;
    const int64_t largest = i % 3 == 0 ? kMaxRankNs : 50;
    const auto draw = [&] {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(largest + 1));
    };
    std::vector<RankTime> ranks(group_size * groups);
    for (RankTime& rank : ranks) rank = {draw(), draw(), draw()};
    const auto excess = SplitExcess(ranks, group_size);
    if (!excess.has_value()) continue;
    for (const int64_t part :
         {excess->even_ns, excess->packing_ns, excess->cp_sharding_ns,
          excess->communication_ns, excess->machine_ns, excess->late_ns}) {
      ASSERT_GE(part, 0);
    }
    ASSERT_EQ(excess->packing_ns + excess->cp_sharding_ns + excess->communication_ns +
                  excess->machine_ns,
              excess->step_ns - excess->even_ns);
    const RankTime& latest = ranks[excess->latest_rank];
    if (excess->late_ns > 0) {
      ASSERT_EQ(excess->late_ns,
                latest.computed_ns - excess->scale.Of(latest.predicted_ns));
    }
    const auto slowest = std::max_element(
        ranks.begin(), ranks.end(),
        [](const auto& a, const auto& b) { return a.computed_ns < b.computed_ns; });
    ASSERT_GE(excess->step_ns, slowest->computed_ns);
  }
}

}  // namespace
}  // namespace evenpack
