// Other costs for a running job.
#ifndef EVENPACK_SERVER_CORE_ENGINE_CALIBRATE_H_
#define EVENPACK_SERVER_CORE_ENGINE_CALIBRATE_H_

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// INVALID_ARGUMENT: a table that Validate(JobSpec) refuses.
absl::StatusOr<JobUpdated> DecideCalibration(const JobState& state,
                                             const CalibrateCost& command);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_CALIBRATE_H_
