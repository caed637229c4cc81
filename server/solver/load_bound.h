// What no assignment can be better than, without a search.
#ifndef EVENPACK_SERVER_SOLVER_LOAD_BOUND_H_
#define EVENPACK_SERVER_SOLVER_LOAD_BOUND_H_

#include <cstdint>

#include "server/solver/linear_fit.h"
#include "server/solver/load_problem.h"

namespace evenpack {

// The greatest of: least_load; the mean load; the costliest document alone; that
// document with what its bin must hold besides, since the others have room for no more
// than their capacity, by documents that cost the least a token and may be cut. `fit`
// is the problem's.
int64_t LoadBound(const LoadProblem& problem, const LinearFit& fit);

// The least whole number that is not below `bound`, save for what double precision may
// have added to it.
int64_t WholeBound(double bound);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_LOAD_BOUND_H_
