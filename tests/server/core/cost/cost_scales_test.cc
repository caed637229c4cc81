#include "server/core/cost/cost_scales.h"

#include <gtest/gtest.h>

#include <limits>

#include "server/core/cost/cost_spec.h"
#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

constexpr CostScales kUnchanged;

WorkloadTable Quadratic() {
  return ResolveWorkload(QuadraticCost{47'000, 1'000}, 65'536, 4).value();
}

TEST(CostScalesTest, AScaleIsReadInMillionths) {
  EXPECT_EQ(ReadScale("attention_scale", 1).value(), CostScales::kOne);
  EXPECT_EQ(ReadScale("attention_scale", 1.2500004).value(), 1'250'000);
  EXPECT_EQ(ReadScale("attention_scale", 0.01).value(), CostScales::kLeast);
  EXPECT_EQ(ReadScale("attention_scale", 100).value(), CostScales::kMost);
  const double refused[] = {0,
                            -1,
                            0.0099,
                            100.001,
                            std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()};
  for (const double value : refused) {
    EXPECT_THAT(ReadScale("attention_scale", value).status(),
                RefusesField("attention_scale", absl::StrCat(value), "0.01 to 100"));
  }
}

TEST(CostScalesTest, RefusesScalesOutOfTheirRange) {
  EXPECT_TRUE(Validate(kUnchanged).ok());
  EXPECT_THAT(Validate({CostScales::kLeast - 1, CostScales::kOne}),
              RefusesField("attention_ppm", "9999", "10000 to 100000000"));
  EXPECT_THAT(Validate({CostScales::kOne, CostScales::kMost + 1}),
              RefusesField("linear_ppm", "100000001", "10000 to 100000000"));
}

TEST(CostScalesTest, EachPartIsScaledByItsOwn) {
  const WorkloadTable table = Quadratic();
  const WorkloadTable scaled =
      Rescaled(table, kUnchanged, {2'000'000, 500'000}, 4).value();
  for (const uint32_t tokens : {1U, 100U, 47'000U, 65'536U}) {
    EXPECT_NEAR(static_cast<double>(scaled.AttentionNs(tokens)),
                2.0 * static_cast<double>(table.AttentionNs(tokens)), 2);
    EXPECT_EQ(scaled.LinearNs(tokens), table.LinearNs(tokens) / 2);
  }
  EXPECT_EQ(Rescaled(table, kUnchanged, kUnchanged, 4).value(), table);
}

TEST(CostScalesTest, ScalesOfATableAreReplacedAndNotMultiplied) {
  const WorkloadTable once =
      Rescaled(Quadratic(), kUnchanged, {4'000'000, 3'000'000}, 4).value();
  EXPECT_EQ(Rescaled(once, {4'000'000, 3'000'000}, kUnchanged, 4).value(), Quadratic());
  const WorkloadTable twice =
      Rescaled(once, {4'000'000, 3'000'000}, {8'000'000, 1'000'000}, 4).value();
  const WorkloadTable at_once =
      Rescaled(Quadratic(), kUnchanged, {8'000'000, 1'000'000}, 4).value();
  for (const uint32_t tokens : {64U, 4'096U, 65'536U}) {
    EXPECT_NEAR(static_cast<double>(twice.AttentionNs(tokens)),
                static_cast<double>(at_once.AttentionNs(tokens)), 1);
  }
  EXPECT_EQ(twice.linear(), at_once.linear());
}

TEST(CostScalesTest, AKnotIsRoundedToTheNearest) {
  const LengthCurve curve = LengthCurve::Create(3, 0, {0, 1, 3, 5}).value();
  const WorkloadTable table = WorkloadTable::Create(curve, curve).value();
  const WorkloadTable half = Rescaled(table, kUnchanged, {500'000, 499'999}, 1).value();
  EXPECT_EQ(half.attention().values(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(half.linear().values(), (std::vector<int64_t>{0, 0, 1, 2}));
}

TEST(CostScalesTest, RefusesAScaleByWhichAStepOverflows) {
  const int64_t most = WorkloadTable::kMaxStepNs;
  const LengthCurve none = LengthCurve::Create(1024, 10, {0, 0}).value();
  const LengthCurve half = LengthCurve::Create(1024, 10, {0, most / 2}).value();
  const WorkloadTable attention = WorkloadTable::Create(half, none).value();
  const WorkloadTable linear = WorkloadTable::Create(none, half).value();
  const std::string accepted =
      "a scale at which the predicted workload of a step stays within 2^62 ns";
  EXPECT_TRUE(Rescaled(attention, kUnchanged, {1'500'000, 1'000'000}, 1).ok());
  EXPECT_THAT(Rescaled(attention, kUnchanged, {3'000'000, 1'000'000}, 1).status(),
              RefusesField("attention_scale", "3", accepted));
  EXPECT_THAT(Rescaled(attention, kUnchanged, {1'500'000, 1'000'000}, 2).status(),
              RefusesField("attention_scale", "1.5", accepted));
  EXPECT_THAT(Rescaled(linear, kUnchanged, {1'000'000, 1'500'000}, 2).status(),
              RefusesField("linear_scale", "1.5", accepted));
}

}  // namespace
}  // namespace evenpack
