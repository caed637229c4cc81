#include "server/solver/load_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace evenpack {
namespace {

// Far more than sums of a million doubles lose.
constexpr double kDoubleError = 1e-10;

struct Totals {
  double cost = 0;
  int64_t tokens = 0;
};

Totals TotalsOf(const LoadProblem& problem) {
  Totals totals;
  for (size_t i = 0; i < problem.lengths.size(); ++i) {
    totals.cost += static_cast<double>(problem.costs[i]);
    totals.tokens += problem.lengths[i];
  }
  return totals;
}

// Of all documents but `without`, the least that `tokens` tokens can cost.
double LeastCostOf(const LoadProblem& problem, int64_t tokens, size_t without) {
  const auto per_token = [&problem](size_t i) {
    return static_cast<double>(problem.costs[i]) / problem.lengths[i];
  };
  std::vector<size_t> cheapest(problem.lengths.size());
  std::iota(cheapest.begin(), cheapest.end(), size_t{0});
  std::sort(cheapest.begin(), cheapest.end(),
            [&](size_t a, size_t b) { return per_token(a) < per_token(b); });
  double cost = 0;
  for (const size_t i : cheapest) {
    if (tokens <= 0) break;
    if (i == without) continue;
    const int64_t taken = std::min<int64_t>(tokens, problem.lengths[i]);
    cost += per_token(i) * static_cast<double>(taken);
    tokens -= taken;
  }
  return cost;
}

}  // namespace

int64_t WholeBound(double bound) {
  return static_cast<int64_t>(std::ceil(bound - std::abs(bound) * kDoubleError));
}

int64_t LoadBound(const LoadProblem& problem, const LinearFit& fit) {
  if (problem.lengths.empty()) return problem.least_load;
  const Totals totals = TotalsOf(problem);
  const auto bins = static_cast<double>(problem.bins);
  const double mean =
      (totals.cost + fit.per_token * static_cast<double>(totals.tokens)) / bins;

  const auto costliest =
      static_cast<size_t>(std::max_element(problem.costs.begin(), problem.costs.end()) -
                          problem.costs.begin());
  const int64_t alone =
      LoadOf(problem, {problem.costs[costliest], problem.lengths[costliest]});
  const int64_t elsewhere = static_cast<int64_t>(problem.bins - 1) * problem.capacity;
  const int64_t held =
      std::max<int64_t>(totals.tokens - elsewhere, problem.lengths[costliest]);
  const double filled =
      static_cast<double>(problem.costs[costliest]) +
      LeastCostOf(problem, held - problem.lengths[costliest], costliest) +
      fit.per_token * static_cast<double>(held);
  return std::max({problem.least_load, WholeBound(mean - fit.error), alone,
                   WholeBound(filled - fit.error)});
}

}  // namespace evenpack
