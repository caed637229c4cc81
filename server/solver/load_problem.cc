#include "server/solver/load_problem.h"

#include <algorithm>

namespace evenpack {

std::vector<BinFill> FillsOf(const LoadProblem& problem, const Assignment& assignment) {
  std::vector<BinFill> fills(problem.bins);
  for (size_t i = 0; i < assignment.size(); ++i) {
    fills[assignment[i]].cost += problem.costs[i];
    fills[assignment[i]].tokens += problem.lengths[i];
  }
  return fills;
}

int64_t LoadOf(const LoadProblem& problem, const BinFill& fill) {
  return fill.cost + problem.linear.At(static_cast<uint64_t>(fill.tokens));
}

int64_t HeaviestLoad(const LoadProblem& problem, const Assignment& assignment) {
  int64_t heaviest = problem.least_load;
  for (const BinFill& fill : FillsOf(problem, assignment)) {
    heaviest = std::max(heaviest, LoadOf(problem, fill));
  }
  return heaviest;
}

bool IsPacking(const LoadProblem& problem, const Assignment& assignment) {
  if (assignment.size() != problem.lengths.size()) return false;
  std::vector<int64_t> tokens(problem.bins, 0);
  for (size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i] >= problem.bins) return false;
    tokens[assignment[i]] += problem.lengths[i];
  }
  return std::all_of(tokens.begin(), tokens.end(),
                     [&problem](int64_t in_bin) { return in_bin <= problem.capacity; });
}

}  // namespace evenpack
