#include "server/core/cost/cost_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "absl/numeric/int128.h"
#include "server/core/cost/named_models.h"
#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

constexpr uint32_t kLongestLength = 2147483647;

WorkloadTable Resolved(const CostSpec& cost, uint32_t max_tokens,
                       uint32_t micro_batches) {
  auto table = ResolveWorkload(cost, max_tokens, micro_batches);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() ? *std::move(table) : WorkloadTable();
}

AnalyticCost Analytic(absl::string_view model) {
  AnalyticCost cost;
  cost.model = *NamedModel(model);
  cost.hardware = *NamedHardware("H100");
  return cost;
}

ProfiledCost Profiled(absl::string_view model, uint32_t tensor_parallel) {
  ProfiledCost cost;
  cost.linear = Analytic(model);
  cost.linear.tensor_parallel = tensor_parallel;
  cost.attention = *KernelLatencyTable::FromTileModel(
      cost.linear.model, cost.linear.hardware, tensor_parallel);
  return cost;
}

double Ratio(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

TEST(QuadraticCost, CostsAttentionAndTokensTheSameAtTheCrossover) {
  const WorkloadTable table =
      Resolved(QuadraticCost{.crossover_tokens = 47'000}, 196'608, 4);
  EXPECT_EQ(table.LinearNs(47'000), 47'000'000);
  EXPECT_NEAR(Ratio(table.AttentionNs(47'000), 47'000'000), 1.0, 1e-5);
  EXPECT_EQ(table.max_tokens(), 196'608u);
  EXPECT_EQ(table.AttentionNs(0), 0);
}

TEST(QuadraticCost, IsExactAtTheKnotsRoundedToNearest) {
  const WorkloadTable table =
      Resolved(QuadraticCost{.crossover_tokens = 7, .ns_per_token = 3}, 4096, 1);
  for (uint32_t length = 0; length <= 4096; ++length) {
    const int64_t scaled = int64_t{length} * length * 3;
    EXPECT_EQ(table.AttentionNs(length), (2 * scaled + 7) / 14);
    EXPECT_EQ(table.LinearNs(length), int64_t{length} * 3);
  }
}

// docs/cost-models.md: at most h^2 / (4 * crossover) tokens above, with knots every h.
TEST(QuadraticCost, StaysWithinTheErrorOfInterpolation) {
  const WorkloadTable table =
      Resolved(QuadraticCost{.crossover_tokens = 47'000}, 196'608, 4);
  const double bound_ns = 64.0 * 64.0 / (4 * 47'000.0) * 1000;
  for (uint32_t length = 0; length <= 196'608; length += 17) {
    const double exact = static_cast<double>(length) * length / 47'000.0 * 1000;
    const auto tabled = static_cast<double>(table.AttentionNs(length));
    ASSERT_GE(tabled, exact - 1.5) << length;
    ASSERT_LE(tabled, exact + bound_ns + 0.5) << length;
  }
}

TEST(QuadraticCost, HoldsTheLongestDocument) {
  const WorkloadTable table =
      Resolved(QuadraticCost{.crossover_tokens = 47'000}, kLongestLength, 40);
  const double exact =
      static_cast<double>(kLongestLength) * kLongestLength / 47'000 * 1000;
  EXPECT_NEAR(static_cast<double>(table.AttentionNs(kLongestLength)) / exact, 1.0,
              1e-6);
  EXPECT_EQ(table.LinearNs(kLongestLength), int64_t{kLongestLength} * 1000);
}

// W(2^31 - 1) is just above 2^62 / 47 ns: 46 micro-batches fit, 47 do not.
TEST(QuadraticCost, RefusesStepsWhoseSumCouldOverflow) {
  const QuadraticCost cost{.crossover_tokens = 47'000};
  EXPECT_TRUE(ResolveWorkload(cost, kLongestLength, 46).ok());
  EXPECT_THAT(ResolveWorkload(cost, kLongestLength, 47),
              RefusesField("max_tokens", "2147483647",
                           "47 micro-batches stays within 2^62 ns"));
  EXPECT_TRUE(ResolveWorkload(cost, kLongestLength / 16, 4096).ok());
}

TEST(QuadraticCost, RefusesNumbersThatNoIntegerHolds) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const QuadraticCost& cost :
       {QuadraticCost{.crossover_tokens = 1, .ns_per_token = kMost},
        QuadraticCost{.crossover_tokens = kMost, .ns_per_token = kMost}}) {
    EXPECT_THAT(ResolveWorkload(cost, kLongestLength, 1),
                RefusesField("max_tokens", "2147483647", "within 2^62 ns"));
  }
  EXPECT_TRUE(
      ResolveWorkload(QuadraticCost{.crossover_tokens = kMost}, kLongestLength, 1)
          .ok());
}

TEST(ResolveWorkload, RefusesBadSizes) {
  const QuadraticCost cost{.crossover_tokens = 47'000};
  EXPECT_THAT(ResolveWorkload(cost, 0, 1),
              RefusesField("max_tokens", "0", "1 to 2147483647"));
  EXPECT_THAT(ResolveWorkload(cost, kLongestLength + 1, 1),
              RefusesField("max_tokens", "2147483648", "1 to 2147483647"));
  EXPECT_THAT(ResolveWorkload(cost, 1, 0),
              RefusesField("micro_batches", "0", "at least 1"));
  EXPECT_TRUE(ResolveWorkload(cost, 1, 1).ok());
}

TEST(ResolveWorkload, RefusesEachBadCost) {
  EXPECT_THAT(ResolveWorkload(QuadraticCost{}, 8, 1),
              RefusesField("crossover_tokens", "0", "at least 1"));
  EXPECT_THAT(
      ResolveWorkload(QuadraticCost{.crossover_tokens = 1, .ns_per_token = 0}, 8, 1),
      RefusesField("ns_per_token", "0", "at least 1"));
  AnalyticCost analytic = Analytic("7B");
  analytic.tensor_parallel = 0;
  EXPECT_THAT(ResolveWorkload(analytic, 8, 1),
              RefusesField("tensor_parallel", "0", "1 to 1024"));
  analytic = Analytic("7B");
  analytic.context_parallel = 1025;
  EXPECT_THAT(Validate(analytic),
              RefusesField("context_parallel", "1025", "1 to 1024"));
  analytic = Analytic("7B");
  analytic.model.layers = 0;
  EXPECT_THAT(Validate(analytic), RefusesField("model.layers", "0", "1 to"));
  analytic = Analytic("7B");
  analytic.hardware.linear_fraction = 2;
  EXPECT_THAT(Validate(analytic), RefusesField("hardware.linear_fraction", "2", "1"));
  ProfiledCost profiled = Profiled("7B", 1);
  profiled.attention = KernelLatencyTable();
  EXPECT_THAT(ResolveWorkload(profiled, 8, 1),
              RefusesField("attention", "an empty table", "a table"));
  profiled = Profiled("7B", 1);
  profiled.linear.model.hidden = 0;
  EXPECT_THAT(Validate(profiled), RefusesField("model.hidden", "0", "1 to"));
}

TEST(TabulateWorkload, AsksForRisingLengthsAndRoundsToNanoseconds) {
  uint64_t next = 0;
  const auto attention = [&next](uint64_t tokens) {
    EXPECT_EQ(tokens, next++);
    return 0.3 * static_cast<double>(tokens * tokens);
  };
  const auto linear = [](uint64_t tokens) { return static_cast<double>(tokens) / 4; };
  const auto table = TabulateWorkload(4096, 8, attention, linear);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->max_tokens(), 4096U);
  EXPECT_EQ(table->AttentionNs(0), 0);
  EXPECT_EQ(table->AttentionNs(3), 3);  // 2.7
  EXPECT_EQ(table->AttentionNs(4), 5);  // 4.8
  EXPECT_EQ(table->AttentionNs(4096), 5'033'165);
  EXPECT_EQ(table->LinearNs(1), 0);
  EXPECT_EQ(table->LinearNs(3), 1);
  EXPECT_EQ(table->LinearNs(4096), 1024);
}

TEST(TabulateWorkload, IsWhatTheQuadraticModelResolvesTo) {
  const WorkloadTable quadratic =
      Resolved(QuadraticCost{.crossover_tokens = 1024}, 100'000, 4);
  const auto table = TabulateWorkload(
      100'000, 4,
      [](uint64_t tokens) {
        return static_cast<double>(tokens * tokens * 1000) / 1024;
      },
      [](uint64_t tokens) { return 1000.0 * static_cast<double>(tokens); });
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(*table, quadratic);
}

TEST(TabulateWorkload, RefusesWhatNoTableHolds) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto nothing = [](uint64_t) { return 0.0; };
  EXPECT_THAT(TabulateWorkload(0, 1, nothing, nothing),
              RefusesField("max_tokens", "0", "1 to 2147483647"));
  EXPECT_THAT(TabulateWorkload(kLongestLength + 1, 1, nothing, nothing),
              RefusesField("max_tokens", "2147483648", "1 to 2147483647"));
  EXPECT_THAT(TabulateWorkload(1, 0, nothing, nothing),
              RefusesField("micro_batches", "0", "at least 1"));
  for (const double value : {kInfinite, kNan, 1e19}) {
    const auto bad = [value](uint64_t) { return value; };
    EXPECT_THAT(TabulateWorkload(64, 1, bad, nothing),
                RefusesField("max_tokens", "64", "within 2^62 ns"));
    EXPECT_THAT(TabulateWorkload(64, 1, nothing, bad),
                RefusesField("max_tokens", "64", "within 2^62 ns"));
  }
  // Each fits, a step of them all does not.
  const auto large = [](uint64_t) { return 1e18; };
  EXPECT_TRUE(TabulateWorkload(64, 4, nothing, large).ok());
  EXPECT_THAT(TabulateWorkload(64, 5, nothing, large),
              RefusesField("max_tokens", "64", "5 micro-batches"));
  const auto falling = [](uint64_t tokens) { return tokens > 2 ? 1.0 : 2.0; };
  EXPECT_THAT(TabulateWorkload(64, 1, falling, nothing),
              RefusesField("values[3]", "1", "at least 2, the value before it"));
  EXPECT_THAT(TabulateWorkload(
                  64, 1, [](uint64_t) { return -1.0; }, nothing),
              RefusesField("values[0]", "-1", "at least 0"));
}

// WLB-LLM's one calibration point: 7B crosses over at about 47,000 tokens.
TEST(AnalyticCost, MeetsThePublishedCrossover) {
  EXPECT_NEAR(CrossoverTokens(Analytic("7B")) / 47'000, 1.0, 0.03);
}

TEST(AnalyticCost, CrossesOverWhereItsTableDoes) {
  for (const absl::string_view name : ModelNames()) {
    const AnalyticCost cost = Analytic(name);
    const auto length = static_cast<uint32_t>(std::lround(CrossoverTokens(cost)));
    const WorkloadTable table = Resolved(cost, 262'144, 64);
    EXPECT_NEAR(Ratio(table.AttentionNs(length), table.LinearNs(length)), 1.0, 1e-4)
        << std::string(name);
  }
}

TEST(AnalyticCost, TakesTheTimeOfItsOperations) {
  const AnalyticCost cost = Analytic("7B");
  const WorkloadTable table = Resolved(cost, 131'072, 4);
  // 128K tokens of 13.2 GFLOP each at 613 TFLOPS: 2.8 s.
  EXPECT_NEAR(static_cast<double>(table.LinearNs(131'072)) / 1e9,
              131'072 * 13.21e9 / (989e12 * 0.62), 0.01);
  EXPECT_NEAR(static_cast<double>(table.AttentionNs(131'072)) / 1e9,
              4.0 * 4096 * 32 * 131'072 * 65'536.5 / (989e12 * 0.58), 0.01);
}

TEST(AnalyticCost, SharesTheWorkOverTensorAndContextParallelRanks) {
  AnalyticCost cost = Analytic("7B");
  const WorkloadTable alone = Resolved(cost, 131'072, 4);
  cost.tensor_parallel = 8;
  cost.context_parallel = 2;
  const WorkloadTable shared = Resolved(cost, 131'072, 4);
  EXPECT_NEAR(Ratio(alone.AttentionNs(100'000), shared.AttentionNs(100'000)), 16, 1e-4);
  EXPECT_NEAR(Ratio(alone.LinearNs(100'000), shared.LinearNs(100'000)), 16, 1e-4);
  EXPECT_EQ(CrossoverTokens(cost), CrossoverTokens(Analytic("7B")));
}

TEST(AnalyticCost, PricesWindowedLayersByTheirWindow) {
  AnalyticCost cost = Analytic("7B");
  const WorkloadTable full = Resolved(cost, 131'072, 4);
  cost.model.window = 4096;
  cost.model.window_layers = 16;
  const WorkloadTable windowed = Resolved(cost, 131'072, 4);
  EXPECT_EQ(windowed.AttentionNs(4096), full.AttentionNs(4096));
  const double pairs = static_cast<double>(AttendedPairs(131'072, 4096)) /
                       static_cast<double>(AttendedPairs(131'072, 0));
  EXPECT_NEAR(Ratio(windowed.AttentionNs(131'072), full.AttentionNs(131'072)),
              0.5 + 0.5 * pairs, 1e-6);
}

TEST(AnalyticCost, HoldsTheLongestDocumentOfTheLargestModel) {
  AnalyticCost cost = Analytic("405B");
  cost.tensor_parallel = 8;
  cost.context_parallel = 16;
  const WorkloadTable table = Resolved(cost, kLongestLength, 16);
  EXPECT_GT(table.AttentionNs(kLongestLength), table.LinearNs(kLongestLength));
  EXPECT_THAT(ResolveWorkload(cost, kLongestLength, 32),
              RefusesField("max_tokens", "2147483647", "within 2^62 ns"));
  cost.hardware.peak_flops = 1e9;
  EXPECT_THAT(ResolveWorkload(cost, kLongestLength, 1),
              RefusesField("max_tokens", "2147483647", "within 2^62 ns"));
}

TEST(ProfiledCost, TakesTheKernelsLatencyOfEveryLayer) {
  ProfiledCost cost = Profiled("70B", 8);
  cost.linear.context_parallel = 4;
  const WorkloadTable table = Resolved(cost, 131'072, 4);
  const int64_t slice = cost.attention.SliceNs(65'536, 65'536);
  EXPECT_NEAR(Ratio(table.AttentionNs(65'536), 80 * slice / 4), 1.0, 1e-6);
  EXPECT_EQ(table.linear(), Resolved(cost.linear, 131'072, 4).linear());
}

TEST(ProfiledCost, TendsToTheAnalyticModelWithTheTileModelsTable) {
  const WorkloadTable profiled = Resolved(Profiled("7B", 1), 131'072, 4);
  const WorkloadTable analytic = Resolved(Analytic("7B"), 131'072, 4);
  EXPECT_NEAR(Ratio(profiled.AttentionNs(131'072), analytic.AttentionNs(131'072)), 1.0,
              0.03);
}

// To within the step of the tile: latency is that of the next 128 tokens, pairs are
// not.
TEST(ProfiledCost, ScalesWindowedLayersByTheirPairs) {
  ProfiledCost cost = Profiled("7B", 1);
  const WorkloadTable full = Resolved(cost, 131'072, 4);
  cost.linear.model.window = 1024;
  cost.linear.model.window_layers = 32;
  const WorkloadTable windowed = Resolved(cost, 131'072, 4);
  const double share = static_cast<double>(AttendedPairs(65'536, 1024)) /
                       static_cast<double>(AttendedPairs(65'536, 0));
  EXPECT_NEAR(Ratio(windowed.AttentionNs(65'536), full.AttentionNs(65'536)), share,
              1e-4);
}

TEST(ProfiledCost, NeverPricesALongerDocumentLower) {
  ProfiledCost cost = Profiled("7B", 1);
  // A dip at 512 queries, as a noisy measurement might have it.
  cost.attention = *KernelLatencyTable::FromMeasurements(
      {128, 256, 512}, {128, 256, 512},
      {10'000, 20'000, 30'000, 0, 90'000, 95'000, 0, 0, 40'000}, 0);
  const WorkloadTable table = Resolved(cost, 4096, 4);
  EXPECT_EQ(table.AttentionNs(512), table.AttentionNs(256));
  EXPECT_EQ(table.AttentionNs(256), 32 * 90'000);
}

TEST(ProfiledCost, HoldsTheLongestDocument) {
  const ProfiledCost cost = Profiled("7B", 1);
  EXPECT_THAT(ResolveWorkload(cost, kLongestLength, 64),
              RefusesField("max_tokens", "2147483647", "within 2^62 ns"));
  const WorkloadTable table = Resolved(Profiled("405B", 16), kLongestLength, 1);
  EXPECT_GT(table.AttentionNs(kLongestLength), int64_t{1} << 50);
}

// Property: with a table that was resolved, whatever documents fill N micro-batches,
// their sum stays within 2^62. Checked where it is nearly refused, on a table whose
// short documents are dear: each costs a whole block of queries.
TEST(ResolveWorkload, BoundsEveryStepThatItAccepts) {
  ProfiledCost cost = Profiled("7B", 1);
  constexpr int64_t kDear = 10'000'000'000;
  cost.attention = *KernelLatencyTable::FromMeasurements(
      {128, 256}, {128, 256}, {kDear, kDear, 0, kDear + 1}, 0);
  constexpr uint32_t kTokens = 1 << 20;
  uint32_t micro_batches = 1;
  while (ResolveWorkload(cost, kTokens, micro_batches * 2).ok()) micro_batches *= 2;
  const WorkloadTable table = Resolved(cost, kTokens, micro_batches);
  EXPECT_GT(micro_batches, 100u);
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    const uint64_t longest = uint64_t{1} << (1 + random() % 20);
    absl::uint128 sum = static_cast<uint64_t>(table.LinearNs(kTokens));
    for (uint64_t left = kTokens; left > 0;) {
      const uint64_t length = std::min(left, 1 + random() % longest);
      sum += static_cast<uint64_t>(table.AttentionNs(static_cast<uint32_t>(length)));
      left -= length;
    }
    ASSERT_LE(sum * micro_batches, absl::uint128(1) << 62);
  }
}

}  // namespace
}  // namespace evenpack
