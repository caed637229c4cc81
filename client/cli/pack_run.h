// Runs a job over a stream of documents, from its first step to its last, in process.
#ifndef EVENPACK_CLIENT_CLI_PACK_RUN_H_
#define EVENPACK_CLIENT_CLI_PACK_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/document_stream.h"
#include "client/cli/pack_figures.h"
#include "client/cli/progress_bar.h"
#include "server/core/cost/workload_table.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_spec.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// What is done with each step of a run, where it is set.
struct StepHooks {
  // Changes what Decide on the state gave, before it is looked at and applied.
  std::function<void(const JobState&, StepDecided&)> change;
  // Is shown the step as it is applied; an error ends the run with it.
  std::function<absl::Status(const StepDecided&)> observe;
  // Steps are decided by the job's costs, and measured by these.
  std::optional<WorkloadTable> true_costs;
};

// Feeds the engine as it asks for documents, acknowledges each step, and drains the
// job. `spec` is valid, has the one stream kStreamName and one data-parallel rank, and
// its bounds admit every document of `stream`, which is at its start. After `max_steps`
// full steps no more documents are taken. decide_seconds is the time of each FormStep
// decision and its `change`, if there is one; documents_per_second is over every
// Decide, change and Apply. INTERNAL: the engine refused a command, or EmissionCheck
// found its steps wrong; else as `observe`.
absl::StatusOr<PackFigures> RunPack(const JobSpec& spec, DocumentStream& stream,
                                    std::optional<uint64_t> max_steps,
                                    ProgressBar& progress, const StepHooks& hooks = {});

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PACK_RUN_H_
