#include "server/solver/load_solver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using testing::SquaredProblem;

constexpr SolverOptions kExact = {.time_limit = 300, .gap = kLeastGap};

TEST(LoadSolverTest, AgreesWithASearchOfAllAssignments) {
  for (uint64_t seed = 1000; seed < 1400; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, seed % 2 == 1);
    const std::optional<Assignment> start = testing::PackGreedily(problem);
    if (!start.has_value()) continue;
    const LoadSolution solution = SolveLoad(problem, *start, kExact);
    ASSERT_TRUE(IsPacking(problem, solution.assignment)) << seed;
    EXPECT_EQ(solution.load, *testing::LeastLoad(problem)) << seed;
    EXPECT_EQ(solution.load, HeaviestLoad(problem, solution.assignment)) << seed;
    EXPECT_LE(solution.bound, solution.load) << seed;
    EXPECT_LE(solution.load, solution.start_load) << seed;
    EXPECT_FALSE(solution.time_limited) << seed;
  }
}

TEST(LoadSolverTest, WithoutTimeItGivesTheStartAndItsGap) {
  const LoadProblem problem = testing::TightProblem(1);
  const Assignment start = *testing::PackGreedily(problem);
  const LoadSolution solution = SolveLoad(problem, start, {.time_limit = 0});
  EXPECT_EQ(solution.assignment, start);
  EXPECT_EQ(solution.load, solution.start_load);
  EXPECT_TRUE(solution.time_limited);
  EXPECT_GT(solution.bound, 0);
  EXPECT_DOUBLE_EQ(solution.Gap(), static_cast<double>(solution.load - solution.bound) /
                                       static_cast<double>(solution.load));
  EXPECT_GT(solution.Gap(), 1e-4);
}

TEST(LoadSolverTest, WithLittleTimeItIsNoWorseThanTheStart) {
  for (const uint64_t seed : {4U, 5U, 6U}) {
    const LoadProblem problem = testing::TightProblem(seed);
    const Assignment start = *testing::PackGreedily(problem);
    for (const double seconds : {0.001, 0.02, 0.2}) {
      const LoadSolution solution =
          SolveLoad(problem, start, {.time_limit = seconds, .gap = kLeastGap});
      EXPECT_TRUE(IsPacking(problem, solution.assignment));
      EXPECT_LE(solution.load, HeaviestLoad(problem, start));
      EXPECT_LE(solution.bound, solution.load);
    }
  }
}

TEST(LoadSolverTest, EndsWhereTheStartIsGoodEnough) {
  const LoadProblem problem = SquaredProblem({10, 9, 9, 9}, 2, 100);
  // 181 against the mean, 171.5.
  const LoadSolution coarse =
      SolveLoad(problem, {0, 0, 1, 1}, {.time_limit = 300, .gap = 0.06});
  EXPECT_FALSE(coarse.time_limited);
  EXPECT_EQ(coarse.bound, 172);
  EXPECT_EQ(coarse.load, 181);
  const LoadSolution exact = SolveLoad(problem, {0, 0, 1, 1}, kExact);
  EXPECT_EQ(exact.load, 181);
  EXPECT_EQ(exact.bound, 181);
  EXPECT_EQ(exact.Gap(), 0);
}

TEST(LoadSolverTest, EdgesOfTheProblem) {
  struct Case {
    const char* name;
    LoadProblem problem;
    Assignment start;
    int64_t load;
  };
  const std::vector<Case> cases = {
      {"no documents", SquaredProblem({}, 3, 10), {}, 0},
      {"one bin", SquaredProblem({5, 3, 2}, 1, 10), {0, 0, 0}, 38},
      {"one document", SquaredProblem({10}, 3, 10), {2}, 100},
      {"equal documents",
       SquaredProblem({5, 5, 5, 5, 5, 5}, 3, 10),
       {0, 0, 1, 1, 2, 2},
       50},
      {"one too many", SquaredProblem({5, 5, 5, 5}, 3, 10), {0, 0, 1, 1}, 50},
      {"fewer documents than bins", SquaredProblem({5, 4}, 3, 10), {1, 1}, 25},
      {"not a token to spare", SquaredProblem({6, 5, 5, 4}, 2, 10), {0, 1, 1, 0}, 52},
      {"the longest there can be",
       SquaredProblem({2147483647}, 1, 2147483647),
       {0},
       int64_t{2147483647} * 2147483647},
  };
  for (const Case& test : cases) {
    const LoadSolution solution = SolveLoad(test.problem, test.start, kExact);
    EXPECT_TRUE(IsPacking(test.problem, solution.assignment)) << test.name;
    EXPECT_EQ(solution.load, test.load) << test.name;
    EXPECT_LE(solution.Gap(), kLeastGap) << test.name;
    EXPECT_FALSE(solution.time_limited) << test.name;
  }
}

TEST(LoadSolverTest, NoLighterThanOtherBinsNeedsNoSearch) {
  LoadProblem problem = testing::TightProblem(1);
  const Assignment start = *testing::PackGreedily(problem);
  problem.least_load = 2 * HeaviestLoad(problem, start);
  const LoadSolution solution = SolveLoad(problem, start, kExact);
  EXPECT_EQ(solution.load, problem.least_load);
  EXPECT_EQ(solution.bound, problem.least_load);
  EXPECT_FALSE(solution.time_limited);
}

TEST(LoadSolverTest, IsTimeLimitedWhereTheBinsBelowTheHeaviestWereCutShort) {
  // The first bin is best as it is; the other two could be equal.
  const LoadProblem problem = SquaredProblem({50, 10, 10, 10, 10}, 3, 50);
  const Assignment start = {0, 1, 1, 1, 1};
  const LoadSolution cut = SolveLoad(problem, start, {.time_limit = 0});
  EXPECT_EQ(cut.Gap(), 0);
  EXPECT_EQ(cut.assignment, start);
  EXPECT_TRUE(cut.time_limited);
  const LoadSolution whole = SolveLoad(problem, start, kExact);
  EXPECT_EQ(whole.Gap(), 0);
  EXPECT_NE(whole.assignment, start);
  EXPECT_FALSE(whole.time_limited);
}

}  // namespace
}  // namespace evenpack
