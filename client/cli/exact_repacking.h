// Packs again, exactly, what the engine has packed.
#ifndef EVENPACK_CLIENT_CLI_EXACT_REPACKING_H_
#define EVENPACK_CLIENT_CLI_EXACT_REPACKING_H_

#include "client/cli/solver_figures.h"
#include "client/cli/solver_flags.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// The engine admits documents, says which of them wait, and keeps what was decided; of
// a step that it packs, and of the later ones of its window, the micro-batches are put
// together anew. Not thread-safe.
class ExactRepacking {
 public:
  ExactRepacking(ExactPolicy policy, const SolverOptions& options)
      : policy_(policy), options_(options), tally_(options) {}

  // `decided` comes from Decide on `state` and isn't applied. It holds the same
  // documents after; kFixed: the window's micro-batches are cut into steps heaviest
  // first. A step of an earlier decision's window stays as it is.
  void Repack(const JobState& state, StepDecided& decided);

  SolverFigures Figures() const { return tally_.Figures(); }

 private:
  SolvedPacking Solve(const JobSpec& spec, const std::vector<MicroBatch>& packed) const;

  const ExactPolicy policy_;
  const SolverOptions options_;
  SolverTally tally_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_EXACT_REPACKING_H_
