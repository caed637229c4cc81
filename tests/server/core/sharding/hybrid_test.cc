#include "server/core/sharding/hybrid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "server/core/cost/hardware_spec.h"
#include "server/core/cost/named_models.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/validate_plan.h"
#include "tests/server/core/sharding/random_lengths.h"
#include "tests/server/core/sharding/tile_table.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;

KernelLatencyTable TilesOf7B() {
  return *KernelLatencyTable::FromTileModel(*NamedModel("7B"), *NamedHardware("H100"),
                                            /*tensor_parallel=*/8);
}

// Most documents short, few of them long.
std::vector<uint32_t> SkewedDocuments(std::mt19937_64& random) {
  std::vector<uint32_t> lengths(1 + Draw(random, 60));
  for (uint32_t& length : lengths) {
    length = static_cast<uint32_t>(1 + Draw(random, uint64_t{16} << Draw(random, 12)));
  }
  return lengths;
}

HybridRule RandomRule(std::mt19937_64& random) {
  HybridRule rule;
  rule.token_tolerance_ppm = static_cast<uint32_t>(Draw(random, 4) * 20'000);
  rule.token_ps = static_cast<int64_t>(Draw(random, 2) * Draw(random, 5'000));
  rule.cut_token_ps = static_cast<int64_t>(Draw(random, 2) * Draw(random, 5'000));
  return rule;
}

TEST(ChooseHybridTest, PlansAreSoundWithinToleranceAndNeverSlower) {
  std::mt19937_64 random(51);
  const KernelLatencyTable tables[] = {TilesOf7B(), OneNanosecondPerTile()};
  int mixed = 0;
  for (int round = 0; round < 1'000; ++round) {
    const std::vector<uint32_t> lengths = SkewedDocuments(random);
    const auto context_parallel = static_cast<uint32_t>(1 + Draw(random, 16));
    const HybridRule rule = RandomRule(random);
    const KernelLatencyTable& table = tables[round % 2];
    const HybridChoice choice =
        *ChooseHybrid(lengths, context_parallel, 0, table, rule);
    ASSERT_EQ(Validate(choice.plan, lengths), absl::OkStatus()) << round;
    ASSERT_TRUE(IsWithinTolerance(choice.plan, rule)) << round;
    ASSERT_EQ(choice.predicted_ns, PredictHybridNs(choice.plan, table, rule));
    for (const Sharding other : {Sharding::kPerSequence, Sharding::kPerDocument}) {
      ASSERT_LE(choice.predicted_ns,
                PredictHybridNs(PlanOf(other, lengths, context_parallel), table, rule));
    }
    ASSERT_EQ(choice.plan,
              ChooseHybrid(lengths, context_parallel, 0, table, rule)->plan);
    mixed += choice.plan.sharding == Sharding::kHybrid ? 1 : 0;
  }
  EXPECT_GT(mixed, 500);
}

// The fastest of all ways to put each document whole on a rank or to cut it evenly.
class EveryMix {
 public:
  EveryMix(const std::vector<uint32_t>& lengths, uint32_t context_parallel,
           const KernelLatencyTable& table, const HybridRule& rule)
      : table_(table), rule_(rule) {
    plan_.sharding = Sharding::kHybrid;
    plan_.context_parallel = context_parallel;
    plan_.document_starts = DocumentStarts(lengths);
    plan_.padded_tokens = plan_.tokens();
    plan_.owner.resize(lengths.size());
    for (uint32_t slot = 0; slot <= plan_.slots(); ++slot) {
      plan_.slot_starts.push_back(kWholeShare * slot / plan_.slots());
    }
    From(0);
  }

  int64_t fastest_ns() const { return fastest_ns_; }

 private:
  void From(size_t document) {
    if (document == plan_.documents()) {
      if (!IsWithinTolerance(plan_, rule_)) return;
      fastest_ns_ = std::min(fastest_ns_, PredictHybridNs(plan_, table_, rule_));
      return;
    }
    for (uint32_t rank = 0; rank <= plan_.context_parallel; ++rank) {
      plan_.owner[document] =
          rank == plan_.context_parallel ? kCutDocument : static_cast<uint16_t>(rank);
      From(document + 1);
    }
  }

  const KernelLatencyTable& table_;
  const HybridRule& rule_;
  ShardPlan plan_;
  int64_t fastest_ns_ = std::numeric_limits<int64_t>::max();
};

TEST(ChooseHybridTest, IsNearTheFastestOfAllMixes) {
  std::mt19937_64 random(53);
  const KernelLatencyTable table = TilesOf7B();
  double worst = 0;
  double sum = 0;
  constexpr int kRounds = 150;
  for (int round = 0; round < kRounds; ++round) {
    const auto context_parallel = static_cast<uint32_t>(2 + Draw(random, 2));
    std::vector<uint32_t> lengths(1 + Draw(random, 6));
    for (uint32_t& length : lengths) {
      length =
          static_cast<uint32_t>(256 + Draw(random, uint64_t{1'024} << Draw(random, 6)));
    }
    HybridRule rule = RandomRule(random);
    rule.token_tolerance_ppm = 50'000;
    const EveryMix every(lengths, context_parallel, table, rule);
    const int64_t found =
        ChooseHybrid(lengths, context_parallel, 0, table, rule)->predicted_ns;
    const double ratio =
        static_cast<double>(found) / static_cast<double>(every.fastest_ns());
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.25);
  EXPECT_LT(sum / kRounds, 1.01);
}

TEST(ChooseHybridTest, ShortDocumentsStayWholeBesideACutOne) {
  std::vector<uint32_t> lengths(33, 1'024);
  lengths[0] = 98'304;
  const HybridChoice choice = *ChooseHybrid(lengths, 8, 0, TilesOf7B(), {});
  ASSERT_EQ(choice.plan.sharding, Sharding::kHybrid);
  EXPECT_EQ(CutTokens(choice.plan), 98'304u);
  const ShardingChoice adaptive = *ChooseSharding(lengths, 8, 0, TilesOf7B());
  EXPECT_LT(choice.predicted_ns,
            std::min(adaptive.per_sequence_ns, adaptive.per_document_ns));
}

TEST(ChooseHybridTest, ALoneDocumentOrRankIsNotMixed) {
  const KernelLatencyTable table = TilesOf7B();
  EXPECT_EQ(ChooseHybrid({}, 8, 0, table, {})->plan.sharding, Sharding::kPerSequence);
  const std::vector<uint32_t> lengths = {1'000, 7, 40'000};
  EXPECT_EQ(ChooseHybrid(lengths, 1, 0, table, {})->plan.sharding,
            Sharding::kPerSequence);
}

TEST(ChooseHybridTest, GiantsAreNotMixed) {
  const std::vector<uint32_t> giants(3, 2147483647);
  const HybridChoice choice = *ChooseHybrid(giants, 4, 0, OneNanosecondPerTile(), {});
  EXPECT_NE(choice.plan.sharding, Sharding::kHybrid);
  EXPECT_EQ(Validate(choice.plan, giants), absl::OkStatus());
}

TEST(PredictHybridNsTest, OfARuleOfNoughtsIsTheSlowestRanks) {
  std::mt19937_64 random(57);
  const KernelLatencyTable table = OneNanosecondPerTile();
  for (int round = 0; round < 50; ++round) {
    const ShardPlan plan = RandomMix(random, RandomLengths(random, 12), 6);
    const std::vector<int64_t> ranks = PredictRankNs(plan, table);
    EXPECT_EQ(PredictHybridNs(plan, table, {}),
              *std::max_element(ranks.begin(), ranks.end()));
  }
}

// Two ranks with a document of 2 tiles a side each, and 5 ns of launch.
TEST(PredictHybridNsTest, AddsTokensAndTheKeysThatTravel) {
  const std::vector<uint32_t> lengths = {256, 256};
  const HybridRule rule = {.token_ps = 1'000, .cut_token_ps = 500};
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = 2;
  plan.document_starts = DocumentStarts(lengths);
  plan.padded_tokens = 512;
  plan.owner = {0, 1};
  plan.slot_starts = {0, kWholeShare, kWholeShare, kWholeShare, kWholeShare};
  EXPECT_EQ(PredictHybridNs(plan, OneNanosecondPerTile(), rule), 5 + 4 + 256);
  plan.owner = {0, kCutDocument};
  EXPECT_EQ(PredictHybridNs(plan, OneNanosecondPerTile(), rule), 5 + 8 + 512 + 256 / 2);
}

TEST(PredictHybridNsTest, IsCapped) {
  const KernelLatencyTable table = *KernelLatencyTable::FromGrid(
      {128, 256}, {128, 256}, std::vector<int64_t>(4, int64_t{1} << 50), 1);
  const std::vector<uint32_t> giants(2'000, 2147483647);
  EXPECT_EQ(PredictHybridNs(PlanOf(Sharding::kPerDocument, giants, 1), table, {}),
            std::numeric_limits<int64_t>::max());
}

TEST(ChooseHybridTest, RefusesBadArguments) {
  const std::vector<uint32_t> lengths = {100};
  const KernelLatencyTable table = OneNanosecondPerTile();
  const auto message = [&](uint32_t context_parallel, uint32_t pad_to,
                           const KernelLatencyTable& latencies,
                           const HybridRule& rule) {
    const absl::Status status =
        ChooseHybrid(lengths, context_parallel, pad_to, latencies, rule).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message(0, 0, table, {}), HasSubstr("context_parallel: 0"));
  EXPECT_THAT(message(2, 8, table, {}),
              HasSubstr("pad_to: 8 is not accepted; accepted: 0 (no padding), where "
                        "sharding is hybrid"));
  EXPECT_THAT(message(2, 0, KernelLatencyTable(), {}),
              HasSubstr("kernel_latency_table: an empty table is not accepted"));
  EXPECT_THAT(message(2, 0, table, {.cut_token_ps = -1}),
              HasSubstr("hybrid.cut_token_ps: -1"));
}

}  // namespace
}  // namespace evenpack
