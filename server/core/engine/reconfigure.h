// Reconfiguration of a running job.
#ifndef EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_
#define EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Errors as in decide.h.
absl::StatusOr<JobUpdated> DecideUpdate(const JobState& state,
                                        const UpdateJob& command);

// Takes back all steps from `from_step` on and the reconfigurations that start there or
// later: the state after step from_step - 1. Documents wait again where they waited, or
// are back in their streams' buffers.
// from_step is at least the oldest checkpoint.
void Withdraw(uint64_t from_step, JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_RECONFIGURE_H_
