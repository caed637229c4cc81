#include "server/solver/exact_packing.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "server/core/document/document.h"
#include "server/core/packing/assignment.h"
#include "server/core/packing/work_list.h"

namespace evenpack {
namespace {

int64_t SquaredLength(const Document& document) {
  return int64_t{document.length} * document.length;
}

// It holds one document, of less than 2^31 tokens.
int64_t SquaredLengths(const MicroBatch& alone) {
  return static_cast<int64_t>(SumOfSquaredLengths(alone));
}

// A problem over some micro-batches, its documents in its order, and where they are.
struct Packed {
  LoadProblem problem;
  WorkList documents;
  Assignment start;
};

template <typename Cost>
Packed ProblemOf(const std::vector<const MicroBatch*>& packed, uint32_t capacity,
                 Cost cost) {
  std::vector<std::pair<const Document*, uint32_t>> placed;
  for (size_t bin = 0; bin < packed.size(); ++bin) {
    for (const Document& document : packed[bin]->documents) {
      placed.emplace_back(&document, static_cast<uint32_t>(bin));
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
    return a.first->length > b.first->length;
  });
  Packed made;
  made.problem.bins = packed.size();
  made.problem.capacity = capacity;
  for (const auto& [document, bin] : placed) {
    made.problem.lengths.push_back(document->length);
    made.problem.costs.push_back(cost(*document));
    made.documents.push_back(document);
    made.start.push_back(bin);
  }
  return made;
}

double MeanLoad(const LoadProblem& problem, const Assignment& assignment) {
  double sum = 0;
  for (const BinFill& fill : FillsOf(problem, assignment)) {
    sum += static_cast<double>(LoadOf(problem, fill));
  }
  return sum / static_cast<double>(problem.bins);
}

SolvedPacking Solve(const Packed& packed, const WorkloadTable& workload,
                    const SolverOptions& options) {
  const LoadSolution solution = SolveLoad(packed.problem, packed.start, options);
  SolvedPacking solved;
  solved.micro_batches = Collect(packed.documents, solution.assignment,
                                 packed.problem.bins, PaddingRule{}, workload)
                             .micro_batches;
  solved.load = solution.load;
  solved.bound = solution.bound;
  solved.mean_load = MeanLoad(packed.problem, solution.assignment);
  solved.gap = solution.Gap();
  solved.seconds = solution.seconds;
  solved.time_limited = solution.time_limited;
  return solved;
}

// Puts a micro-batch beside those that were solved.
void AddAlone(const MicroBatch& alone, SolvedPacking& solved) {
  const int64_t load = SquaredLengths(alone);
  const auto count = static_cast<double>(solved.micro_batches.size());
  solved.mean_load =
      (solved.mean_load * count + static_cast<double>(load)) / (count + 1);
  solved.load = std::max(solved.load, load);
  solved.bound = std::max(solved.bound, load);
  solved.micro_batches.push_back(alone);
}

}  // namespace

SolvedPacking SolveFixed(const std::vector<MicroBatch>& packed, uint32_t window,
                         const WorkloadTable& workload, const SolverOptions& options) {
  std::vector<const MicroBatch*> within;
  std::vector<const MicroBatch*> alone;
  int64_t heaviest_alone = 0;
  for (const MicroBatch& micro_batch : packed) {
    if (micro_batch.tokens <= window) {
      within.push_back(&micro_batch);
      continue;
    }
    alone.push_back(&micro_batch);
    heaviest_alone = std::max(heaviest_alone, SquaredLengths(micro_batch));
  }
  SolvedPacking solved;
  if (!within.empty()) {
    Packed problem = ProblemOf(within, window, SquaredLength);
    problem.problem.least_load = heaviest_alone;
    solved = Solve(problem, workload, options);
  }
  for (const MicroBatch* micro_batch : alone) AddAlone(*micro_batch, solved);
  return solved;
}

SolvedPacking SolveVarlen(const std::vector<MicroBatch>& packed, uint32_t max_length,
                          const WorkloadTable& workload, const SolverOptions& options) {
  std::vector<const MicroBatch*> all;
  all.reserve(packed.size());
  for (const MicroBatch& micro_batch : packed) all.push_back(&micro_batch);
  Packed problem = ProblemOf(all, max_length, [&workload](const Document& document) {
    return workload.AttentionNs(document.length);
  });
  problem.problem.linear = workload.linear();
  return Solve(problem, workload, options);
}

}  // namespace evenpack
