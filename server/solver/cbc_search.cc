#include "server/solver/cbc_search.h"

#include <CbcEventHandler.hpp>
#include <CbcModel.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinError.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "server/solver/assignment_programme.h"

namespace evenpack {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostColumns = 200'000;

// What a search has come to. After the deadline nothing is taken from CBC any more: a
// linear programme that was cut short says what isn't so.
class Progress {
 public:
  Progress(const LoadProblem& problem, const AssignmentProgramme& programme,
           Clock::time_point deadline, SearchResult& result)
      : problem_(problem),
        programme_(programme),
        deadline_(deadline),
        load_(HeaviestLoad(problem, result.assignment)),
        result_(result) {}

  bool IsOver() const { return Clock::now() >= deadline_; }

  // `z` is a bound that was proven before now.
  void RaiseBound(double z) {
    if (IsOver()) return;
    result_.bound = std::clamp(programme_.BoundFrom(z), result_.bound,
                               std::max(load_, result_.bound));
  }

  void Offer(const double* columns) {
    if (columns == nullptr) return;
    std::optional<Assignment> found =
        programme_.Decode(std::span(columns, programme_.columns()));
    if (!found.has_value() || !IsPacking(problem_, *found)) return;
    const int64_t load = HeaviestLoad(problem_, *found);
    if (load >= load_) return;
    load_ = load;
    result_.assignment = *std::move(found);
  }

 private:
  const LoadProblem& problem_;
  const AssignmentProgramme& programme_;
  const Clock::time_point deadline_;
  int64_t load_;
  SearchResult& result_;
};

// Ends a linear programme at the deadline.
class SimplexWatch : public ClpEventHandler {
 public:
  explicit SimplexWatch(const Progress& progress) : progress_(&progress) {}

  int event(Event /*which*/) override { return progress_->IsOver() ? kStop : kGoOn; }
  ClpEventHandler* clone() const override { return new SimplexWatch(*this); }

 private:
  static constexpr int kGoOn = -1;
  static constexpr int kStop = 5;

  const Progress* progress_;
};

// Keeps what the search finds, and ends it at the deadline.
class SearchWatch : public CbcEventHandler {
 public:
  explicit SearchWatch(Progress& progress) : progress_(&progress) {}

  CbcAction event(CbcEvent which) override {
    if (which == solution || which == heuristicSolution) {
      progress_->Offer(model_->bestSolution());
    }
    if (which == node || which == treeStatus) {
      progress_->RaiseBound(model_->getBestPossibleObjValue());
    }
    return progress_->IsOver() ? stop : noAction;
  }
  CbcEventHandler* clone() const override { return new SearchWatch(*this); }

 private:
  Progress* progress_;
};

void Load(const AssignmentProgramme& programme, OsiClpSolverInterface& solver) {
  const AssignmentProgramme::Form& form = programme.form();
  const size_t columns = programme.columns();
  std::vector<double> objective(columns, 0);
  objective.back() = 1;
  solver.loadProblem(static_cast<int>(columns), static_cast<int>(form.row_lower.size()),
                     form.starts.data(), form.rows.data(), form.elements.data(),
                     form.column_lower.data(), form.column_upper.data(),
                     objective.data(), form.row_lower.data(), form.row_upper.data());
  for (size_t column = 0; column + 1 < columns; ++column) {
    solver.setInteger(static_cast<int>(column));
  }
}

void Silence(OsiClpSolverInterface& solver) {
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
}

void Search(const AssignmentProgramme& programme, const Assignment& start, double gap,
            Progress& progress) {
  OsiClpSolverInterface solver;
  Silence(solver);
  Load(programme, solver);
  SimplexWatch simplex_watch(progress);
  solver.getModelPtr()->passInEventHandler(&simplex_watch);
  ClpSolve options;
  // Or Clp would take SIGINT for itself.
  options.setSpecialOption(2, 1);
  // Left to choose, Clp takes methods that ask nobody for seconds.
  options.setSolveType(ClpSolve::useDual);
  solver.setSolveOptions(options);
  solver.initialSolve();
  if (!solver.isProvenOptimal() || progress.IsOver()) return;
  progress.RaiseBound(solver.getObjValue());

  CbcModel model(solver);
  model.setLogLevel(0);
  model.setAllowableGap(0);
  model.setAllowableFractionGap(gap);
  CglKnapsackCover covers;
  CglMixedIntegerRounding2 roundings;
  CglGomory gomory;
  model.addCutGenerator(&covers, -1);
  model.addCutGenerator(&roundings, -1);
  model.addCutGenerator(&gomory, -1);
  const std::vector<double> columns = programme.Encode(start);
  model.setBestSolution(columns.data(), static_cast<int>(columns.size()),
                        columns.back(), /*check=*/true);
  SearchWatch search_watch(progress);
  model.passInEventHandler(&search_watch);
  model.branchAndBound();
  if (progress.IsOver() || model.status() != 0) return;
  progress.Offer(model.bestSolution());
  progress.RaiseBound(model.getBestPossibleObjValue());
}

}  // namespace

SearchResult SearchByCbc(const LoadProblem& problem, const LinearFit& fit,
                         const Assignment& start, int64_t bound,
                         const SearchLimits& limits) {
  SearchResult result = {start, bound};
  if (problem.lengths.size() * problem.bins > kMostColumns) return result;
  const int64_t worst = HeaviestLoad(problem, start);
  const AssignmentProgramme programme(problem, fit, std::max<int64_t>(bound, 1), worst);
  Progress progress(problem, programme, limits.deadline, result);
  try {
    // CBC's gap is a share of another number than ours, and its bound is lowered here.
    Search(programme, start, limits.gap / 2, progress);
  } catch (const CoinError&) {
    return result;
  }
  return result;
}

}  // namespace evenpack
