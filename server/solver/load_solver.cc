#include "server/solver/load_solver.h"

#include <chrono>
#include <utility>

#include "server/solver/cbc_search.h"
#include "server/solver/exchange_descent.h"
#include "server/solver/linear_fit.h"
#include "server/solver/load_bound.h"

namespace evenpack {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point After(Clock::time_point start, double seconds) {
  return start + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(seconds));
}

auto IsAfter(Clock::time_point end) {
  return [end] { return Clock::now() >= end; };
}

}  // namespace

double LoadSolution::Gap() const {
  if (load == 0) return 0;
  return static_cast<double>(load - bound) / static_cast<double>(load);
}

LoadSolution SolveLoad(const LoadProblem& problem, const Assignment& start,
                       const SolverOptions& options) {
  const Clock::time_point began = Clock::now();
  const Clock::time_point deadline = After(began, options.time_limit);
  const LinearFit fit = FitLine(problem.linear, problem.capacity);
  LoadSolution solution;
  solution.start_load = HeaviestLoad(problem, start);
  // CBC is left half of the time.
  DescentResult descent =
      DescendByExchanges(problem, start, IsAfter(After(began, options.time_limit / 2)));
  bool was_cut = descent.was_cut;
  solution.assignment = std::move(descent.assignment);
  solution.load = HeaviestLoad(problem, solution.assignment);
  solution.bound = LoadBound(problem, fit);
  if (solution.Gap() > options.gap && Clock::now() < deadline) {
    SearchResult found = SearchByCbc(problem, fit, solution.assignment, solution.bound,
                                     {deadline, options.gap});
    solution.bound = found.bound;
    // The bins below the heaviest are as CBC left them.
    descent =
        DescendByExchanges(problem, std::move(found.assignment), IsAfter(deadline));
    was_cut = was_cut || descent.was_cut;
    solution.assignment = std::move(descent.assignment);
    solution.load = HeaviestLoad(problem, solution.assignment);
  }
  const Clock::time_point ended = Clock::now();
  solution.seconds = std::chrono::duration<double>(ended - began).count();
  solution.time_limited =
      was_cut || (solution.Gap() > options.gap && ended >= deadline);
  return solution;
}

}  // namespace evenpack
