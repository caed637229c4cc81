#include "server/solver/cbc_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "server/solver/load_bound.h"
#include "tests/server/solver/small_problems.h"

namespace evenpack {
namespace {

using testing::SquaredProblem;
using Clock = std::chrono::steady_clock;

constexpr double kGap = 1e-5;

SearchResult SearchFor(const LoadProblem& problem, const Assignment& start,
                       Clock::duration time) {
  const LinearFit fit = FitLine(problem.linear, problem.capacity);
  return SearchByCbc(problem, fit, start, LoadBound(problem, fit),
                     {Clock::now() + time, kGap});
}

// Alone, without exchanges before it.
TEST(CbcSearchTest, FindsAndProvesTheLeastLoad) {
  int better = 0;
  int checked = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, seed % 2 == 1);
    const std::optional<Assignment> start = testing::PackGreedily(problem);
    if (!start.has_value()) continue;
    const int64_t least = *testing::LeastLoad(problem);
    const SearchResult found = SearchFor(problem, *start, std::chrono::minutes(5));
    ASSERT_TRUE(IsPacking(problem, found.assignment)) << seed;
    EXPECT_EQ(HeaviestLoad(problem, found.assignment), least) << seed;
    EXPECT_LE(found.bound, least) << seed;
    // The curve's rounding is below 3.
    EXPECT_GE(found.bound, least - (seed % 2 == 1 ? 3 : 0)) << seed;
    ++checked;
    if (HeaviestLoad(problem, *start) > least) ++better;
  }
  EXPECT_GT(checked, 200);
  EXPECT_GT(better, 5);
}

// A programme that is cut short gives CBC wrong bounds and no solution.
TEST(CbcSearchTest, WhatItSaysWhenItsTimeIsUpIsTrue) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const LoadProblem problem = testing::TightProblem(seed);
    const Assignment start = *testing::PackGreedily(problem);
    int64_t best = HeaviestLoad(problem, start);
    int64_t bound = 0;
    for (const int milliseconds : {0, 2, 5, 10, 20, 50, 100, 200, 400}) {
      const SearchResult found =
          SearchFor(problem, start, std::chrono::milliseconds(milliseconds));
      ASSERT_TRUE(IsPacking(problem, found.assignment));
      best = std::min(best, HeaviestLoad(problem, found.assignment));
      bound = std::max(bound, found.bound);
    }
    EXPECT_LE(bound, best) << seed;
  }
}

TEST(CbcSearchTest, GivesTheSameResultAgain) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const LoadProblem problem = testing::RandomProblem(seed, false);
    const std::optional<Assignment> start = testing::PackGreedily(problem);
    if (!start.has_value()) continue;
    const SearchResult first = SearchFor(problem, *start, std::chrono::minutes(5));
    const SearchResult second = SearchFor(problem, *start, std::chrono::minutes(5));
    EXPECT_EQ(first.assignment, second.assignment);
    EXPECT_EQ(first.bound, second.bound);
  }
}

TEST(CbcSearchTest, WritesNothingAndLeavesSignalsAlone) {
  const auto handler = std::signal(SIGINT, SIG_IGN);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const LoadProblem problem = testing::TightProblem(1);
  SearchFor(problem, *testing::PackGreedily(problem), std::chrono::milliseconds(300));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::signal(SIGINT, handler), SIG_IGN);
}

TEST(CbcSearchTest, LeavesAProgrammeThatIsTooLargeAsItIs) {
  const LoadProblem problem =
      SquaredProblem(std::vector<uint32_t>(2001, 5), 100, 1'000'000);
  const Assignment start(2001, 0);
  const SearchResult found = SearchFor(problem, start, std::chrono::minutes(5));
  EXPECT_EQ(found.assignment, start);
  EXPECT_EQ(found.bound, 501);
}

}  // namespace
}  // namespace evenpack
