#include "server/core/sharding/plan_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/sharding/hybrid.h"
#include "tests/server/core/sharding/random_lengths.h"
#include "tests/server/core/sharding/tile_table.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;

TEST(PlanShardingTest, MakesThePlanThatIsAskedFor) {
  const std::vector<uint32_t> lengths = {700, 3, 90};
  for (const uint32_t pad_to : {0u, 24u}) {
    for (const Sharding sharding : kPlannedShardings) {
      EXPECT_EQ(*PlanSharding(sharding, lengths, 3, pad_to, KernelLatencyTable()),
                PlanOf(sharding, lengths, 3, pad_to));
    }
  }
}

TEST(PlanShardingTest, AdaptiveIsOneOfTheOthers) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  const std::vector<uint32_t> short_ones(64, 128);
  EXPECT_EQ(*PlanSharding(Sharding::kAdaptive, short_ones, 4, 0, table),
            PlanOf(Sharding::kPerSequence, short_ones, 4));
  std::vector<uint32_t> uneven(65, 128);
  uneven[0] = 8192;
  EXPECT_EQ(*PlanSharding(Sharding::kAdaptive, uneven, 2, 0, table),
            PlanOf(Sharding::kPerDocument, uneven, 2));
}

TEST(PlanShardingTest, HybridDecidesByItsRule) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  std::vector<uint32_t> lengths(64, 128);
  lengths.push_back(8192);
  const HybridRule rule = {.cut_token_ps = 7};
  const ShardPlan plan = *PlanSharding(Sharding::kHybrid, lengths, 4, 0, table, rule);
  EXPECT_EQ(plan.sharding, Sharding::kHybrid);
  EXPECT_EQ(plan, ChooseHybrid(lengths, 4, 0, table, rule)->plan);
}

TEST(PlanShardingTest, RefusesBadArgumentsUnderEverySharding) {
  const KernelLatencyTable table = OneNanosecondPerTile();
  for (const Sharding sharding :
       {Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kAdaptive,
        Sharding::kContiguous, Sharding::kHybrid}) {
    EXPECT_EQ(PlanSharding(sharding, {}, 1025, 0, table).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  const absl::Status unknown =
      PlanSharding(static_cast<Sharding>(7), {}, 1, 0, table).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()),
              HasSubstr("sharding: 7 is not accepted; accepted: 0 (per_sequence)"));
  EXPECT_EQ(
      PlanSharding(Sharding::kAdaptive, {}, 1, 0, KernelLatencyTable()).status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace evenpack
