// The exact policies, as programmes over micro-batches that a heuristic has packed.
// Which documents wait is the heuristic's decision and stays (docs/adr/0028).
#ifndef EVENPACK_SERVER_SOLVER_EXACT_PACKING_H_
#define EVENPACK_SERVER_SOLVER_EXACT_PACKING_H_

#include <cstdint>
#include <vector>

#include "server/core/cost/workload_table.h"
#include "server/core/document/micro_batch.h"
#include "server/solver/load_solver.h"

namespace evenpack {

struct SolvedPacking {
  // The documents of those that were given, each micro-batch's longest first.
  std::vector<MicroBatch> micro_batches;
  // Of the heaviest micro-batch, in the programme's measure.
  int64_t load = 0;
  // No packing of these documents is below it.
  int64_t bound = 0;
  // Mean over the micro-batches of what `load` measures.
  double mean_load = 0;
  double gap = 0;
  double seconds = 0;
  bool time_limited = false;
};

// fixed_solver, minimise max over j of the sum of d_i^2 (WLB-LLM section 4.1): each
// document in one micro-batch of at most `window` tokens. A micro-batch that is longer,
// which holds one document alone, stays as it is.
//
// `packed` is not empty and without padding, as PackFixedGreedy returns it: it is where
// the search starts. `workload` prices the result.
SolvedPacking SolveFixed(const std::vector<MicroBatch>& packed, uint32_t window,
                         const WorkloadTable& workload, const SolverOptions& options);

// varlen_solver, minimise max over j of the sum of W_a(d_i) + W_l(sum of d_i) (WLB-LLM
// section 4.2): each document in one micro-batch of at most `max_length` tokens, which
// is at most workload.max_tokens(). `packed` likewise, as PackWlb returns it; none of
// its micro-batches is longer.
//
// W_l is a straight line in the programme. Loads are those of the table, and the bound
// is lowered by the most that the two can differ (linear_fit.h).
SolvedPacking SolveVarlen(const std::vector<MicroBatch>& packed, uint32_t max_length,
                          const WorkloadTable& workload, const SolverOptions& options);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SOLVER_EXACT_PACKING_H_
