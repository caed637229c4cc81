// Problems that are small enough to look at every assignment.
#ifndef EVENPACK_TESTS_SERVER_SOLVER_SMALL_PROBLEMS_H_
#define EVENPACK_TESTS_SERVER_SOLVER_SMALL_PROBLEMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/cost/length_curve.h"
#include "server/solver/load_problem.h"

namespace evenpack::testing {

// W_l(t) = per_token * t up to max_tokens.
LengthCurve LinearCurve(uint32_t max_tokens, int64_t per_token);

// Costs are squared lengths. `lengths` come longest first.
LoadProblem SquaredProblem(std::vector<uint32_t> lengths, size_t bins,
                           int64_t capacity);

// 1 to 8 documents of 1 to 60 tokens, many of them of one length, and 1 to 4 bins;
// `is_linear` has tokens cost something too. Not every one can be packed.
LoadProblem RandomProblem(uint64_t seed, bool is_linear);

// Longest first, each to the lightest bin that has room; nothing where that fails.
std::optional<Assignment> PackGreedily(const LoadProblem& problem);

// The least heaviest load of any packing, of bins^documents assignments; nothing where
// there is no packing.
std::optional<int64_t> LeastLoad(const LoadProblem& problem);

// Of the given lengths as many as four bins of 128K hold, less those for which
// PackGreedily finds no room, so that next to none is left.
LoadProblem TightProblem(uint64_t seed);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SOLVER_SMALL_PROBLEMS_H_
