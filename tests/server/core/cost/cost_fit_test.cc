#include "server/core/cost/cost_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

constexpr CostScales kNone;
constexpr int64_t kMostTime = std::numeric_limits<int64_t>::max();

// A machine whose true costs are the model's times `truth`, with noise: what a
// micro-batch with such a share of attention takes there.
class Machine {
 public:
  Machine(const CostScales& truth, uint64_t seed) : truth_(truth), random_(seed) {}

  // Noise is uniform within so many percent.
  void SetNoise(uint32_t percent) { noise_ = percent; }
  // One of so many micro-batches takes 1.5 to 50 times as long.
  void SetStragglers(uint32_t one_in) { one_in_ = one_in; }
  // Shares of attention, percent.
  void SetShares(uint32_t least, uint32_t most) {
    least_ = least;
    most_ = most;
  }

  CostObservation Measure() {
    const auto share =
        static_cast<double>(testing::Draw(random_, least_ * 100, most_ * 100));
    const double predicted = 1e6 * static_cast<double>(testing::Draw(random_, 50, 150));
    CostObservation observation;
    observation.attention_ns = static_cast<int64_t>(predicted * share / 1e4);
    observation.linear_ns = static_cast<int64_t>(predicted) - observation.attention_ns;
    double took = static_cast<double>(observation.attention_ns) *
                      static_cast<double>(truth_.attention_ppm) / 1e6 +
                  static_cast<double>(observation.linear_ns) *
                      static_cast<double>(truth_.linear_ppm) / 1e6;
    const auto noise = static_cast<double>(testing::Draw(random_, 0, 200 * noise_));
    took *= 1 + (noise - 100 * noise_) / 1e4;
    if (one_in_ > 0 && testing::Draw(random_, 1, one_in_) == 1) {
      took *= static_cast<double>(testing::Draw(random_, 15, 500)) / 10;
    }
    observation.measured_ns = static_cast<int64_t>(took);
    return observation;
  }
  void Fill(size_t count, CostFit& fit) {
    for (size_t i = 0; i < count; ++i) fit.Add(Measure());
  }

 private:
  CostScales truth_;
  std::mt19937_64 random_;
  uint32_t noise_ = 5;
  uint32_t one_in_ = 0;
  uint32_t least_ = 10;
  uint32_t most_ = 70;
};

// Within so many percent of the truth.
void ExpectNear(const CostScales& scales, const CostScales& truth, double percent,
                const std::string& what) {
  const auto expect = [&](int64_t value, int64_t expected) {
    EXPECT_NEAR(static_cast<double>(value) / static_cast<double>(expected), 1,
                percent / 100)
        << what;
  };
  expect(scales.attention_ppm, truth.attention_ppm);
  expect(scales.linear_ppm, truth.linear_ppm);
}

TEST(CostFitTest, ExactMeasurementsGiveTheExactScales) {
  for (const CostScales truth :
       {kNone, CostScales{2'000'000, 1'000'000}, CostScales{500'000, 3'000'000},
        CostScales{100'000'000, 10'000}, CostScales{10'000, 100'000'000}}) {
    Machine machine(truth, 1);
    machine.SetNoise(0);
    CostFit fit;
    machine.Fill(64, fit);
    const std::optional<CostEstimate> estimate = fit.Estimate(kNone);
    ASSERT_TRUE(estimate.has_value());
    EXPECT_TRUE(estimate->separable);
    EXPECT_EQ(estimate->observations, 64U);
    ExpectNear(estimate->scales, truth, 0.5, "");
  }
}

TEST(CostFitTest, AThirdMayBeArbitrarilySlow) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const CostScales truth = {testing::Draw(random, 100'000, 10'000'000),
                              testing::Draw(random, 500'000, 2'000'000)};
    Machine machine(truth, seed);
    machine.SetStragglers(3);
    CostFit fit;
    machine.Fill(testing::Draw(random, 256, 2000), fit);
    const std::optional<CostEstimate> estimate = fit.Estimate(kNone);
    ASSERT_TRUE(estimate.has_value());
    if (!estimate->separable) continue;
    ExpectNear(estimate->scales, truth, 5, absl::StrCat("seed ", seed));
  }
}

TEST(CostFitTest, SlowOnesMayAllHaveLongDocuments) {
  Machine machine({2'000'000, 1'000'000}, 3);
  CostFit fit;
  for (int i = 0; i < 600; ++i) {
    CostObservation observation = machine.Measure();
    const bool is_long = observation.attention_ns > observation.linear_ns;
    if (is_long) observation.measured_ns *= 7;
    fit.Add(observation);
  }
  ExpectNear(fit.Estimate(kNone)->scales, {2'000'000, 1'000'000}, 5, "");
}

TEST(CostFitTest, WhereAllHaveTheSameShareOnlyTheCommonScaleMoves) {
  Machine machine({3'000'000, 3'000'000}, 5);
  machine.SetShares(40, 42);
  machine.SetStragglers(5);
  CostFit fit;
  machine.Fill(500, fit);
  const std::optional<CostEstimate> alone = fit.Estimate(kNone);
  EXPECT_FALSE(alone->separable);
  ExpectNear(alone->scales, {3'000'000, 3'000'000}, 5, "");
  // The present proportion of the two is kept.
  const std::optional<CostEstimate> applied = fit.Estimate({6'000'000, 2'000'000});
  EXPECT_FALSE(applied->separable);
  EXPECT_NEAR(static_cast<double>(applied->scales.attention_ppm) /
                  static_cast<double>(applied->scales.linear_ppm),
              3, 0.001);
  EXPECT_LT(applied->scales.attention_ppm, 6'000'000);
}

TEST(CostFitTest, NoiseThatHidesTheSlopeIsNoConfidence) {
  Machine machine({2'000'000, 1'000'000}, 7);
  machine.SetNoise(20);
  CostFit fit;
  machine.Fill(CostFit::kLeastObservations, fit);
  EXPECT_FALSE(fit.Estimate(kNone)->separable);
  machine.Fill(900, fit);
  EXPECT_TRUE(fit.Estimate(kNone)->separable);
}

TEST(CostFitTest, FewObservationsSayNothing) {
  Machine machine(kNone, 9);
  CostFit fit;
  machine.Fill(CostFit::kLeastObservations - 1, fit);
  EXPECT_FALSE(fit.Estimate(kNone).has_value());
  machine.Fill(1, fit);
  EXPECT_TRUE(fit.Estimate(kNone).has_value());
  fit.Clear();
  EXPECT_EQ(fit.size(), 0U);
  EXPECT_FALSE(fit.Estimate(kNone).has_value());
}

TEST(CostFitTest, OldObservationsAreForgotten) {
  CostFit fit;
  Machine before({4'000'000, 4'000'000}, 11);
  before.Fill(CostFit::kMaxObservations, fit);
  Machine after({1'000'000, 2'000'000}, 12);
  after.Fill(CostFit::kMaxObservations, fit);
  EXPECT_EQ(fit.size(), CostFit::kMaxObservations);
  ExpectNear(fit.Estimate(kNone)->scales, {1'000'000, 2'000'000}, 3, "");
}

TEST(CostFitTest, WhatIsNoMeasurementIsPassedOver) {
  CostFit fit;
  fit.Add({0, 0, 5});
  fit.Add({5, 5, 0});
  fit.Add({5, 5, -5});
  EXPECT_EQ(fit.size(), 0U);
  // Extreme ones are bounded: nothing overflows.
  for (int i = 0; i < 20; ++i) {
    fit.Add({kMostTime, kMostTime, 1});
    fit.Add({1, 1, kMostTime});
    fit.Add({0, 1, kMostTime});
    fit.Add({1, 0, kMostTime});
  }
  const std::optional<CostEstimate> estimate = fit.Estimate(kNone);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_THAT(estimate->scales.attention_ppm,
              ::testing::AllOf(::testing::Ge(CostScales::kLeast),
                               ::testing::Le(CostScales::kMost)));
}

TEST(CostFitTest, TheOrderWithinTheLastOnesDoesNotMatter) {
  Machine machine({2'000'000, 1'000'000}, 13);
  machine.SetStragglers(4);
  std::vector<CostObservation> observations;
  observations.reserve(300);
  for (int i = 0; i < 300; ++i) observations.push_back(machine.Measure());
  CostFit forwards;
  for (const CostObservation& observation : observations) forwards.Add(observation);
  CostFit backwards;
  for (size_t i = observations.size(); i-- > 0;) backwards.Add(observations[i]);
  EXPECT_EQ(forwards.Estimate(kNone)->scales, backwards.Estimate(kNone)->scales);
}

TEST(SuggestScalesTest, StepsAreBoundedAndSmallOnesLeftOut) {
  const struct {
    CostScales estimate;
    CostScales applied;
    CostScales suggested;
  } cases[] = {
      {{2'000'000, 1'000'000}, kNone, {1'250'000, 1'000'000}},
      {{500'000, 1'100'000}, kNone, {800'000, 1'100'000}},
      {{1'029'000, 971'000}, kNone, kNone},
      {{1'031'000, 969'000}, kNone, {1'031'000, 969'000}},
      {{2'000'000, 1'000'000}, {1'953'125, 1'000'000}, {1'953'125, 1'000'000}},
      {{CostScales::kMost, CostScales::kLeast},
       {90'000'000, 11'000},
       {CostScales::kMost, CostScales::kLeast}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(SuggestScales({c.estimate, true, 100}, c.applied), c.suggested);
  }
}

// What a job does by itself, if each of its steps has 4 micro-batches, each suggestion
// is applied, and there are 8 steps between two.
TEST(SuggestScalesTest, AProfileWrongByTwoIsCorrectedWithinFiftySteps) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const CostScales truth :
         {CostScales{2'000'000, 1'000'000}, CostScales{500'000, 1'000'000},
          CostScales{1'000'000, 2'000'000}, CostScales{2'000'000, 500'000}}) {
      Machine machine(truth, seed);
      machine.SetNoise(3);
      machine.SetStragglers(10);
      CostFit fit;
      CostScales applied;
      for (int step = 1; step <= 50; ++step) {
        machine.Fill(4, fit);
        const std::optional<CostEstimate> estimate = fit.Estimate(applied);
        if (step % 8 == 0 && estimate.has_value()) {
          applied = SuggestScales(*estimate, applied);
        }
      }
      ExpectNear(applied, truth, 5, absl::StrCat("seed ", seed));
    }
  }
}

}  // namespace
}  // namespace evenpack
