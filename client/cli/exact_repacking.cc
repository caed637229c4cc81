#include "client/cli/exact_repacking.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "server/core/document/step.h"
#include "server/core/engine/step_formation.h"
#include "server/solver/exact_packing.h"

namespace evenpack {
namespace {

std::vector<MicroBatch> TakeWindow(StepDecided& decided) {
  std::vector<MicroBatch> window = std::move(decided.step.micro_batches);
  for (Step& later : decided.planned) {
    std::move(later.micro_batches.begin(), later.micro_batches.end(),
              std::back_inserter(window));
  }
  return window;
}

void PutWindow(std::vector<MicroBatch> window, StepDecided& decided) {
  const auto per_step =
      static_cast<ptrdiff_t>(window.size() / (decided.planned.size() + 1));
  auto next = std::make_move_iterator(window.begin());
  decided.step.micro_batches.assign(next, next + per_step);
  for (Step& later : decided.planned) {
    next += per_step;
    later.micro_batches.assign(next, next + per_step);
  }
}

}  // namespace

SolvedPacking ExactRepacking::Solve(const JobSpec& spec,
                                    const std::vector<MicroBatch>& packed) const {
  switch (policy_) {
    case ExactPolicy::kFixed:
      return SolveFixed(packed, spec.window, spec.workload, options_);
    case ExactPolicy::kVarlen:
      return SolveVarlen(packed, spec.max_length, spec.workload, options_);
  }
  return {};
}

void ExactRepacking::Repack(const JobState& state, StepDecided& decided) {
  if (decided.from_plan) return;
  const std::vector<MicroBatch> packed = TakeWindow(decided);
  SolvedPacking solved = Solve(state.spec, packed);
  tally_.Add(solved);
  for (MicroBatch& micro_batch : solved.micro_batches) {
    micro_batch.sharding = packed.front().sharding;
  }
  if (policy_ == ExactPolicy::kFixed) {
    std::stable_sort(solved.micro_batches.begin(), solved.micro_batches.end(),
                     [](const MicroBatch& a, const MicroBatch& b) {
                       return a.workload_ns > b.workload_ns;
                     });
  }
  PutWindow(std::move(solved.micro_batches), decided);
  AddDigests(state.position.digest, decided);
}

}  // namespace evenpack
