// A LoadProblem from a heuristic's packing to the best one, or as near as the time
// allows.
#ifndef EVENPACK_SERVER_SOLVER_LOAD_SOLVER_H_
#define EVENPACK_SERVER_SOLVER_LOAD_SOLVER_H_

#include <cstdint>

#include "server/solver/load_problem.h"

namespace evenpack {

struct SolverOptions {
  // Seconds by the clock, 0 or more. 0: the start and its bound.
  double time_limit = 10;
  // A packing within this share of the bound ends the search: kLeastGap to 1.
  double gap = 1e-4;
};

// Below this CBC's tolerances would decide.
inline constexpr double kLeastGap = 1e-5;

struct LoadSolution {
  Assignment assignment;
  // Of the heaviest bin.
  int64_t load = 0;
  // No packing's heaviest bin is below this, and `load` isn't.
  int64_t bound = 0;
  // Of the start.
  int64_t start_load = 0;
  // By the clock.
  double seconds = 0;
  // Time was up before the search was over: also where the packing is within the gap,
  // while the bins below the heaviest were made even.
  bool time_limited = false;

  // (load - bound) / load: 0 is proven best. 0 where there is no load.
  double Gap() const;
};

// Exchanges of few documents first (exchange_descent.h), then CBC. `start` must be a
// packing; the result is one too, and no heavier. The result is a function of the
// arguments as long as it isn't time_limited; else it also depends on the machine.
LoadSolution SolveLoad(const LoadProblem& problem, const Assignment& start,
                       const SolverOptions& options);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_LOAD_SOLVER_H_
