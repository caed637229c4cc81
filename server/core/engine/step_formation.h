// Forms a job's next step: which documents are admitted, which waiting ones go, and
// how they are packed.
#ifndef EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_
#define EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_

#include "absl/status/statusor.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// True only where DecideStep would refuse for want of documents; found without the text
// of an error, since a server asks after every ingest.
bool NeedsMoreDocuments(const JobState& state);

// FAILED_PRECONDITION: not enough documents yet. OUT_OF_RANGE: the job is drained.
// RESOURCE_EXHAUSTED: as many steps as may wait to be made durable are decided.
// INVALID_ARGUMENT: what sharding/plan_sharding.h refuses.
absl::StatusOr<StepDecided> DecideStep(const JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_
