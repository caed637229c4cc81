// Which document goes to which bin so that the heaviest bin is as light as can be: the
// problem that both exact policies come to.
#ifndef EVENPACK_SERVER_SOLVER_LOAD_PROBLEM_H_
#define EVENPACK_SERVER_SOLVER_LOAD_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/core/cost/length_curve.h"

namespace evenpack {

// The load of a bin is the sum of its documents' costs + linear of its tokens. Sums
// over the tokens of one bin fit in 63 bits.
struct LoadProblem {
  // Tokens of each document, 1 to `capacity`, the longest first.
  std::vector<uint32_t> lengths;
  // Of each document, at least 0. Documents of one length have one cost.
  std::vector<int64_t> costs;
  // Zero where tokens as such cost nothing. Reaches to `capacity`.
  LengthCurve linear;
  // At least 1.
  size_t bins = 1;
  // Tokens of a bin, at most.
  int64_t capacity = 0;
  // Of bins that are no part of the problem: to be lighter than this is of no use.
  int64_t least_load = 0;
};

// The bin of each document, below LoadProblem::bins.
using Assignment = std::vector<uint32_t>;

// What is in a bin.
struct BinFill {
  int64_t cost = 0;
  int64_t tokens = 0;
};

// One for each bin. Every entry of `assignment` names a bin.
std::vector<BinFill> FillsOf(const LoadProblem& problem, const Assignment& assignment);

int64_t LoadOf(const LoadProblem& problem, const BinFill& fill);

// What is to be made least: the greatest of least_load and the bins' loads.
int64_t HeaviestLoad(const LoadProblem& problem, const Assignment& assignment);

// Whether each document has a bin and no bin is over its capacity.
bool IsPacking(const LoadProblem& problem, const Assignment& assignment);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_LOAD_PROBLEM_H_
