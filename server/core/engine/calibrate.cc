#include "server/core/engine/calibrate.h"

namespace evenpack {

absl::StatusOr<JobUpdated> DecideCalibration(const JobState& state,
                                             const CalibrateCost& command) {
  JobUpdated event;
  event.from_step = state.position.next_step;
  event.spec = state.spec;
  event.spec.workload = command.workload;
  event.spec.description = command.description;
  event.new_epoch = false;
  if (absl::Status status = Validate(event.spec); !status.ok()) return status;
  return event;
}

}  // namespace evenpack
