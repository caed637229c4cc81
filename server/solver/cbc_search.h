// The exact search: branch and cut by COIN-OR's CBC.
#ifndef EVENPACK_SERVER_SOLVER_CBC_SEARCH_H_
#define EVENPACK_SERVER_SOLVER_CBC_SEARCH_H_

#include <chrono>
#include <cstdint>

#include "server/solver/linear_fit.h"
#include "server/solver/load_problem.h"

namespace evenpack {

struct SearchLimits {
  std::chrono::steady_clock::time_point deadline;
  // The search ends once its best is within this share of its bound.
  double gap = 0;
};

struct SearchResult {
  // The best that is known.
  Assignment assignment;
  // No packing's heaviest load is below this.
  int64_t bound = 0;
};

// From `start`, a packing, and `bound`, which is proven. There are documents. What CBC
// gives is checked in whole numbers, and passed over where it is no packing or no
// better than the best so far; its bound is taken less what its tolerances may have
// added.
//
// It writes nothing, takes no signal, and is back at the deadline but for what CBC does
// between two iterations of the simplex method, such as a round of cuts. Where a fault
// of CBC's ends the search, the result is what was known by then; likewise for a
// programme that is too large for CBC (200,000 columns).
SearchResult SearchByCbc(const LoadProblem& problem, const LinearFit& fit,
                         const Assignment& start, int64_t bound,
                         const SearchLimits& limits);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_CBC_SEARCH_H_
