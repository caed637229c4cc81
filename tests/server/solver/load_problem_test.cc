#include "server/solver/load_problem.h"

#include <gtest/gtest.h>

#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using testing::SquaredProblem;

TEST(LoadProblemTest, ALoadIsCostsAndTheCurveOfTheTokens) {
  LoadProblem problem = SquaredProblem({4, 3, 1}, 2, 10);
  EXPECT_EQ(HeaviestLoad(problem, {0, 1, 1}), 16);
  problem.linear = testing::LinearCurve(10, 100);
  EXPECT_EQ(HeaviestLoad(problem, {0, 1, 1}), 416);
  EXPECT_EQ(HeaviestLoad(problem, {0, 0, 1}), 725);
  EXPECT_EQ(LoadOf(problem, {25, 7}), 725);
  problem.least_load = 1000;
  EXPECT_EQ(HeaviestLoad(problem, {0, 0, 1}), 1000);
}

TEST(LoadProblemTest, APackingHasEveryDocumentInABinWithRoom) {
  const LoadProblem problem = SquaredProblem({4, 3, 1}, 2, 5);
  EXPECT_TRUE(IsPacking(problem, {0, 1, 1}));
  EXPECT_TRUE(IsPacking(problem, {0, 1, 0}));
  EXPECT_FALSE(IsPacking(problem, {0, 0, 1}));
  EXPECT_FALSE(IsPacking(problem, {0, 1}));
  EXPECT_FALSE(IsPacking(problem, {0, 1, 1, 1}));
  EXPECT_FALSE(IsPacking(problem, {0, 1, 2}));
  EXPECT_TRUE(IsPacking(SquaredProblem({}, 3, 5), {}));
}

}  // namespace
}  // namespace evenpack
