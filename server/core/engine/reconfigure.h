// Reconfiguration of a running job.
#ifndef EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_
#define EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Errors as in decide.h.
absl::StatusOr<JobUpdated> DecideUpdate(const JobState& state,
                                        const UpdateJob& command);
absl::StatusOr<JobUpdated> DecideRewind(const JobState& state,
                                        const RewindJob& command);
absl::StatusOr<JobUpdated> DecideSkip(const JobState& state,
                                      const SkipDocuments& command);

// FAILED_PRECONDITION naming a document of `state` that no step has yet and that is
// longer than `spec` allows, or has waited longer; what is skipped may.
absl::Status CheckFits(const JobState& state, const JobSpec& spec);

// Takes back all steps from `from_step` on and the reconfigurations that start there or
// later: the state after step from_step - 1. Documents wait again where they waited, or
// are back in their streams' buffers, those that were skipped since too (PassOver()).
// from_step is at least the oldest checkpoint.
void Withdraw(uint64_t from_step, JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_
