#include "server/core/cost/length_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/server/core/cost/refused_field.h"

namespace evenpack {
namespace {

constexpr int64_t kMostWork = std::numeric_limits<int64_t>::max();

LengthCurve CurveOf(uint32_t max_tokens, int knot_shift, std::vector<int64_t> values) {
  auto curve = LengthCurve::Create(max_tokens, knot_shift, std::move(values));
  EXPECT_TRUE(curve.ok()) << curve.status();
  return curve.ok() ? *curve : LengthCurve();
}

TEST(LengthCurve, IsZeroEverywhereByDefault) {
  const LengthCurve curve;
  for (const uint64_t tokens : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    EXPECT_EQ(curve.At(tokens), 0);
  }
  EXPECT_EQ(curve.max_tokens(), 0u);
  EXPECT_TRUE(curve.values().empty());
  EXPECT_EQ(CurveOf(0, 0, {}), curve);
}

TEST(LengthCurve, HasItsValuesAtTheKnotsAndLinesBetweenThem) {
  const LengthCurve curve = CurveOf(10, 2, {0, 10, 30, 31});
  const std::map<uint64_t, int64_t> expected = {{0, 0},   {1, 2},   {2, 5},  {3, 7},
                                                {4, 10},  {5, 15},  {8, 30}, {9, 30},
                                                {10, 30}, {11, 30}, {12, 31}};
  for (const auto& [tokens, value] : expected) {
    EXPECT_EQ(curve.At(tokens), value) << tokens;
  }
}

TEST(LengthCurve, ReadsEveryTokenFromItsOwnKnotWhereTheShiftIsZero) {
  const LengthCurve curve = CurveOf(3, 0, {1, 5, 5, 9});
  EXPECT_THAT(
      (std::vector<int64_t>{curve.At(0), curve.At(1), curve.At(2), curve.At(3)}),
      ::testing::ElementsAre(1, 5, 5, 9));
}

TEST(LengthCurve, ContinuesTheLastSlopeBeyondTheLastKnot) {
  const LengthCurve curve = CurveOf(8, 2, {0, 10, 30});
  EXPECT_EQ(curve.At(8), 30);
  EXPECT_EQ(curve.At(9), 35);
  EXPECT_EQ(curve.At(16), 70);
}

TEST(LengthCurve, SaturatesWhereTheSlopeLeavesTheIntegers) {
  const LengthCurve curve = CurveOf(2, 0, {0, 1, kMostWork - 1});
  EXPECT_EQ(curve.At(2), kMostWork - 1);
  EXPECT_EQ(curve.At(3), kMostWork);
  EXPECT_EQ(curve.At(std::numeric_limits<uint64_t>::max()), kMostWork);
}

TEST(LengthCurve, DoesNotOverflowBetweenTheSteepestKnots) {
  const LengthCurve curve = CurveOf(1u << 31, 31, {0, kMostWork});
  EXPECT_EQ(curve.At(1u << 30), kMostWork / 2);
  EXPECT_EQ(curve.At((1u << 31) - 1), kMostWork - (int64_t{1} << 32));
}

TEST(LengthCurve, RefusesWhatIsNoCurve) {
  const struct {
    uint32_t max_tokens;
    int knot_shift;
    std::vector<int64_t> values;
    const char* field;
    const char* value;
    const char* accepted;
  } cases[] = {
      {0, 0, {0}, "max_tokens", "0", "at least 1"},
      {0, 1, {}, "max_tokens", "0", "at least 1"},
      {8, -1, {0, 1}, "knot_shift", "-1", "0 to 31"},
      {8, 32, {0, 1}, "knot_shift", "32", "0 to 31"},
      {8, 2, {0, 1}, "values", "2 values", "3 values for max_tokens 8"},
      {9, 2, {0, 1, 2}, "values", "3 values", "4 values for max_tokens 9"},
      {8, 2, {0, 1, 2, 3}, "values", "4 values", "3 values"},
      {8, 2, {-1, 1, 2}, "values[0]", "-1", "at least 0"},
      {8, 2, {0, 7, 6}, "values[2]", "6", "at least 7"},
  };
  for (const auto& refused : cases) {
    EXPECT_THAT(
        LengthCurve::Create(refused.max_tokens, refused.knot_shift, refused.values),
        RefusesField(refused.field, refused.value, refused.accepted));
  }
}

TEST(LengthCurve, TakesTheFinestKnotsThatStayWithinTheSegments) {
  const std::map<uint32_t, int> expected = {
      {1, 0},        {4096, 0},     {4097, 1},         {8192, 1},
      {131072, 5},   {196608, 6},   {196609, 6},       {262145, 7},
      {1 << 24, 12}, {1 << 30, 18}, {2147483647u, 19}, {4294967295u, 20}};
  for (const auto& [max_tokens, shift] : expected) {
    EXPECT_EQ(LengthCurve::KnotShiftFor(max_tokens), shift) << max_tokens;
  }
}

TEST(LengthCurve, SamplesAFunctionAtItsKnotsInRisingOrder) {
  std::vector<uint64_t> asked;
  const auto curve =
      LengthCurve::Sample(10'000, [&](uint64_t tokens) -> absl::StatusOr<int64_t> {
        asked.push_back(tokens);
        return static_cast<int64_t>(3 * tokens);
      });
  ASSERT_TRUE(curve.ok()) << curve.status();
  ASSERT_EQ(asked.size(), 2501u);
  for (size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i], 4 * i);
  for (uint64_t tokens = 0; tokens <= 10'010; ++tokens) {
    EXPECT_EQ(curve->At(tokens), static_cast<int64_t>(3 * tokens));
  }
}

TEST(LengthCurve, PassesOnTheErrorOfWhatItSamples) {
  const auto curve =
      LengthCurve::Sample(100, [](uint64_t tokens) -> absl::StatusOr<int64_t> {
        if (tokens == 7) return absl::OutOfRangeError("seven");
        return 0;
      });
  EXPECT_EQ(curve.status(), absl::OutOfRangeError("seven"));
  EXPECT_THAT(
      LengthCurve::Sample(0, [](uint64_t) -> absl::StatusOr<int64_t> { return 0; }),
      RefusesField("max_tokens", "0", "at least 1"));
  EXPECT_THAT(LengthCurve::Sample(9,
                                  [](uint64_t tokens) -> absl::StatusOr<int64_t> {
                                    return tokens == 5 ? 1 : 2;
                                  }),
              RefusesField("values[5]", "1", "at least 2"));
}

// Property: on any curve, At is the exact line rounded down, and never falls.
TEST(LengthCurve, AgreesWithExactArithmeticOnRandomCurves) {
  std::mt19937_64 random(20250323);
  for (int round = 0; round < 200; ++round) {
    const int shift = static_cast<int>(random() % 20);
    const uint64_t segments = 1 + random() % 40;
    const auto max_tokens = static_cast<uint32_t>(segments << shift);
    std::vector<int64_t> values = {static_cast<int64_t>(random() % 1000)};
    const uint64_t steepest = uint64_t{1} << (1 + random() % 56);
    for (uint64_t i = 0; i < segments; ++i) {
      values.push_back(values.back() + static_cast<int64_t>(random() % steepest));
    }
    const LengthCurve curve = CurveOf(max_tokens, shift, values);
    int64_t previous = 0;
    uint64_t tokens = 0;
    while (tokens < max_tokens) {
      const uint64_t knot = tokens >> shift;
      const absl::int128 rise = values[knot + 1] - values[knot];
      const absl::int128 width = absl::int128(1) << shift;
      const absl::int128 exact =
          values[knot] + rise * (tokens - (knot << shift)) / width;
      ASSERT_EQ(absl::int128(curve.At(tokens)), exact) << tokens;
      ASSERT_GE(curve.At(tokens), previous);
      previous = curve.At(tokens);
      tokens += 1 + random() % (1 + max_tokens / 64);
    }
  }
}

TEST(LengthCurve, EqualsOnlyACurveOfTheSameKnotsAndValues) {
  const LengthCurve curve = CurveOf(8, 2, {0, 10, 30});
  EXPECT_EQ(curve, CurveOf(8, 2, {0, 10, 30}));
  EXPECT_NE(curve, CurveOf(7, 2, {0, 10, 30}));
  EXPECT_NE(curve, CurveOf(8, 2, {0, 10, 31}));
  EXPECT_NE(curve, LengthCurve());
}

}  // namespace
}  // namespace evenpack
