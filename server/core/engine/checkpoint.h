// A job as it was after one of its steps, to begin again from.
#ifndef EVENPACK_SERVER_CORE_ENGINE_CHECKPOINT_H_
#define EVENPACK_SERVER_CORE_ENGINE_CHECKPOINT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// The state after `step`: later steps are withdrawn, so their documents wait again, and
// those up to it are durable and let go. Documents that were accepted since are in it.
// Given what the job was given, it decides the same steps, byte for byte.
// OUT_OF_RANGE: a step that is not decided, or before the oldest checkpoint that is
// kept. FAILED_PRECONDITION: a document that was accepted since doesn't fit the spec of
// that step.
absl::StatusOr<JobState> CheckpointAfter(const JobState& state, uint64_t step);

// Errors as in decide.h.
absl::StatusOr<JobRestored> DecideRestore(const RestoreJob& command);
// FAILED_PRECONDITION: the checkpoint is of a job of another lineage or with other
// streams, or it is RewindJob and refused as that.
absl::StatusOr<Event> DecideRewindToCheckpoint(const JobState& state,
                                               const RewindToCheckpoint& command);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_CHECKPOINT_H_
