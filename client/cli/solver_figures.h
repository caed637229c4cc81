// What is reported of a run's exact searches.
#ifndef EVENPACK_CLIENT_CLI_SOLVER_FIGURES_H_
#define EVENPACK_CLIENT_CLI_SOLVER_FIGURES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/solver/exact_packing.h"
#include "server/solver/load_solver.h"

namespace evenpack {

// A window is what is packed together: the documents of --window-batches global
// batches.
struct SolverFigures {
  SolverOptions options;
  uint64_t windows = 0;
  // Proven to be within options.gap of the best.
  uint64_t optimal_windows = 0;
  // Ended by options.time_limit.
  uint64_t time_limited_windows = 0;
  // (load - bound) / load of a window, over windows.
  double mean_gap = 0;
  double max_gap = 0;
  // By the clock.
  double mean_solve_seconds = 0;
  double max_solve_seconds = 0;
  // Over a window's mean micro-batch, in the programme's measure; mean over windows. No
  // packing of the same documents has its heaviest micro-batch below the bound. Nothing
  // where there was no window.
  std::optional<double> heaviest_mean;
  std::optional<double> lower_bound_mean;
};

// Not thread-safe.
class SolverTally {
 public:
  explicit SolverTally(const SolverOptions& options) { sum_.options = options; }

  void Add(const SolvedPacking& window);
  SolverFigures Figures() const;

 private:
  // Means are sums here.
  SolverFigures sum_;
  double heaviest_ = 0;
  double lower_bound_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SOLVER_FIGURES_H_
