#include "server/solver/load_bound.h"

#include <gtest/gtest.h>

#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using testing::SquaredProblem;

int64_t BoundOf(const LoadProblem& problem) {
  return LoadBound(problem, FitLine(problem.linear, problem.capacity));
}

TEST(LoadBoundTest, IsTheGreatestOfItsParts) {
  // The mean: 4 * 9 / 3, and rounded up.
  EXPECT_EQ(BoundOf(SquaredProblem({3, 3, 3, 3}, 3, 100)), 12);
  EXPECT_EQ(BoundOf(SquaredProblem({3, 3, 3, 1}, 3, 100)), 10);
  // The longest document.
  EXPECT_EQ(BoundOf(SquaredProblem({9, 1, 1, 1}, 3, 100)), 81);
  // With what its bin must hold: of 12 tokens there is room for 6 elsewhere, which
  // leaves it one besides the 5, a document of 1.
  EXPECT_EQ(BoundOf(SquaredProblem({5, 3, 2, 1, 1}, 2, 6)), 26);
  // Half of a document of 2.
  EXPECT_EQ(BoundOf(SquaredProblem({5, 3, 2, 2}, 2, 6)), 27);
  EXPECT_EQ(BoundOf(SquaredProblem({}, 2, 6)), 0);
}

TEST(LoadBoundTest, IsAtLeastWhatOtherBinsHave) {
  LoadProblem problem = SquaredProblem({3, 3}, 2, 7);
  problem.least_load = 50;
  EXPECT_EQ(BoundOf(problem), 50);
  problem.lengths.clear();
  problem.costs.clear();
  EXPECT_EQ(BoundOf(problem), 50);
}

TEST(LoadBoundTest, CountsWhatTokensCost) {
  LoadProblem problem = SquaredProblem({3, 3, 3, 3}, 2, 100);
  problem.linear = testing::LinearCurve(100, 10);
  // 18 + 10 * 6, less the curve's rounding.
  EXPECT_LE(BoundOf(problem), 78);
  EXPECT_GE(BoundOf(problem), 76);
}

TEST(LoadBoundTest, IsNeverAboveTheLeastLoad) {
  int checked = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, seed % 2 == 1);
    const std::optional<int64_t> least = testing::LeastLoad(problem);
    if (!least.has_value()) continue;
    ++checked;
    EXPECT_LE(BoundOf(problem), *least) << seed;
  }
  EXPECT_GT(checked, 250);
}

TEST(WholeBoundTest, RoundsUpButForWhatDoublesMayHaveAdded) {
  EXPECT_EQ(WholeBound(0), 0);
  EXPECT_EQ(WholeBound(10.2), 11);
  EXPECT_EQ(WholeBound(10), 10);
  EXPECT_EQ(WholeBound(10.0000000001), 10);
}

}  // namespace
}  // namespace evenpack
