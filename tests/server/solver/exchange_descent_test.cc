#include "server/solver/exchange_descent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using testing::SquaredProblem;

// To its end.
Assignment Descended(const LoadProblem& problem, Assignment start) {
  DescentResult result =
      DescendByExchanges(problem, std::move(start), [] { return false; });
  EXPECT_FALSE(result.was_cut);
  return std::move(result.assignment);
}

TEST(ExchangeDescentTest, OneForOneTwoForOneAndThreeForThree) {
  const LoadProblem two = SquaredProblem({5, 4}, 2, 100);
  EXPECT_EQ(HeaviestLoad(two, Descended(two, {0, 0})), 25);
  const LoadProblem pair = SquaredProblem({5, 4, 3}, 2, 7);
  EXPECT_EQ(HeaviestLoad(pair, Descended(pair, {0, 1, 1})), 25);
  const LoadProblem tight = SquaredProblem({6, 4, 4, 3, 3, 2, 2}, 2, 12);
  // Only sets of as many tokens can change places: 36 + 16 + 4 against 16 + 9 + 9 + 4.
  const Assignment start = {0, 0, 1, 1, 1, 0, 1};
  EXPECT_EQ(HeaviestLoad(tight, start), 56);
  EXPECT_EQ(HeaviestLoad(tight, Descended(tight, start)), 54);
}

TEST(ExchangeDescentTest, StaysWithinTheCapacityAndGetsNoHeavier) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, seed % 2 == 1);
    const std::optional<Assignment> start = testing::PackGreedily(problem);
    if (!start.has_value()) continue;
    const Assignment end = Descended(problem, *start);
    EXPECT_TRUE(IsPacking(problem, end)) << seed;
    EXPECT_LE(HeaviestLoad(problem, end), HeaviestLoad(problem, *start)) << seed;
    EXPECT_EQ(Descended(problem, end), end) << seed;
  }
}

TEST(ExchangeDescentTest, EvensOutBinsBelowTheHeaviest) {
  // The first bin can't change; the other two can be equal.
  const LoadProblem problem = SquaredProblem({50, 10, 10, 10, 10}, 3, 50);
  const Assignment end = Descended(problem, {0, 1, 1, 1, 1});
  EXPECT_EQ(FillsOf(problem, end)[1].cost, 200);
  EXPECT_EQ(FillsOf(problem, end)[2].cost, 200);
}

TEST(ExchangeDescentTest, DoesNothingOnceItIsOver) {
  const LoadProblem problem = SquaredProblem({5, 4}, 2, 100);
  const DescentResult result = DescendByExchanges(problem, {0, 0}, [] { return true; });
  EXPECT_EQ(result.assignment, (Assignment{0, 0}));
  EXPECT_TRUE(result.was_cut);
}

TEST(ExchangeDescentTest, ItIsOverInTheMidstOfASearch) {
  // All of its many pairs of sets fit.
  const LoadProblem problem = SquaredProblem(std::vector<uint32_t>(60, 7), 2, 1000);
  Assignment start(60, 0);
  std::fill(start.begin() + 40, start.end(), 1);
  int asked = 0;
  const DescentResult result =
      DescendByExchanges(problem, start, [&asked] { return ++asked > 3; });
  EXPECT_EQ(result.assignment, start);
  EXPECT_TRUE(result.was_cut);
  EXPECT_EQ(asked, 4);
}

TEST(ExchangeDescentTest, FillsTightBinsAlmostEvenly) {
  const LoadProblem problem = testing::TightProblem(2);
  const Assignment start = *testing::PackGreedily(problem);
  const Assignment end = Descended(problem, start);
  EXPECT_TRUE(IsPacking(problem, end));
  EXPECT_LT(HeaviestLoad(problem, end), HeaviestLoad(problem, start));
}

TEST(ExchangeDescentTest, OneBinAndNoDocumentsStayAsTheyAre) {
  EXPECT_EQ(Descended(SquaredProblem({5, 4}, 1, 9), {0, 0}), (Assignment{0, 0}));
  EXPECT_EQ(Descended(SquaredProblem({}, 3, 9), {}), Assignment());
}

}  // namespace
}  // namespace evenpack
