#include "client/cli/solver_figures.h"

#include <algorithm>

namespace evenpack {
namespace {

// 1 for a window without work, as StepBalance has it.
double OverMean(int64_t load, double mean) {
  return mean > 0 ? static_cast<double>(load) / mean : 1;
}

}  // namespace

void SolverTally::Add(const SolvedPacking& window) {
  ++sum_.windows;
  if (window.gap <= sum_.options.gap) ++sum_.optimal_windows;
  if (window.time_limited) ++sum_.time_limited_windows;
  sum_.mean_gap += window.gap;
  sum_.max_gap = std::max(sum_.max_gap, window.gap);
  sum_.mean_solve_seconds += window.seconds;
  sum_.max_solve_seconds = std::max(sum_.max_solve_seconds, window.seconds);
  heaviest_ += OverMean(window.load, window.mean_load);
  lower_bound_ += OverMean(window.bound, window.mean_load);
}

SolverFigures SolverTally::Figures() const {
  SolverFigures figures = sum_;
  if (figures.windows == 0) return figures;
  const auto windows = static_cast<double>(figures.windows);
  figures.mean_gap /= windows;
  figures.mean_solve_seconds /= windows;
  figures.heaviest_mean = heaviest_ / windows;
  figures.lower_bound_mean = lower_bound_ / windows;
  return figures;
}

}  // namespace evenpack
