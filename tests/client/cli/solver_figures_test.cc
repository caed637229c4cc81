#include "client/cli/solver_figures.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

SolvedPacking Window(int64_t load, int64_t bound, double mean, double seconds,
                     bool time_limited) {
  SolvedPacking window;
  window.load = load;
  window.bound = bound;
  window.mean_load = mean;
  window.gap = static_cast<double>(load - bound) / static_cast<double>(load);
  window.seconds = seconds;
  window.time_limited = time_limited;
  return window;
}

TEST(SolverTallyTest, IsEmptyWithoutAWindow) {
  const SolverFigures figures = SolverTally({.time_limit = 3, .gap = 0.5}).Figures();
  EXPECT_EQ(figures.windows, 0U);
  EXPECT_EQ(figures.options.time_limit, 3);
  EXPECT_EQ(figures.mean_gap, 0);
  EXPECT_FALSE(figures.heaviest_mean.has_value());
  EXPECT_FALSE(figures.lower_bound_mean.has_value());
}

TEST(SolverTallyTest, AWindowWithoutWorkIsEven) {
  SolverTally tally({.time_limit = 3, .gap = 0.1});
  tally.Add(SolvedPacking());
  EXPECT_EQ(tally.Figures().heaviest_mean, 1);
  EXPECT_EQ(tally.Figures().lower_bound_mean, 1);
  EXPECT_EQ(tally.Figures().optimal_windows, 1U);
}

TEST(SolverTallyTest, CountsWindowsAndTakesTheirMeans) {
  SolverTally tally({.time_limit = 3, .gap = 0.1});
  tally.Add(Window(100, 100, 50, 1, false));
  tally.Add(Window(100, 90, 100, 2, false));
  tally.Add(Window(100, 50, 100, 3, true));
  const SolverFigures figures = tally.Figures();
  EXPECT_EQ(figures.windows, 3U);
  EXPECT_EQ(figures.optimal_windows, 2U);
  EXPECT_EQ(figures.time_limited_windows, 1U);
  EXPECT_DOUBLE_EQ(figures.mean_gap, 0.2);
  EXPECT_DOUBLE_EQ(figures.max_gap, 0.5);
  EXPECT_DOUBLE_EQ(figures.mean_solve_seconds, 2);
  EXPECT_DOUBLE_EQ(figures.max_solve_seconds, 3);
  EXPECT_DOUBLE_EQ(*figures.heaviest_mean, 4.0 / 3);
  EXPECT_DOUBLE_EQ(*figures.lower_bound_mean, (2 + 0.9 + 0.5) / 3);
}

}  // namespace
}  // namespace evenpack
