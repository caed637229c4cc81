#include "server/core/engine/checkpoint.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/reconfigure.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {

absl::StatusOr<JobState> CheckpointAfter(const JobState& state, uint64_t step) {
  const uint64_t next = state.position.next_step;
  if (next == 0) {
    return absl::OutOfRangeError(absl::StrCat(
        "step: ", step, " is not decided; accepted: none, since no step is"));
  }
  // Checkpoints are counts of steps.
  const uint64_t oldest = state.checkpoints.front();
  const uint64_t first = oldest == 0 ? 0 : oldest - 1;
  if (step < first || step >= next) {
    return absl::OutOfRangeError(
        absl::StrCat("step: ", step, " is not accepted; accepted: ", first, " to ",
                     next - 1, " (from the oldest checkpoint to the last step)"));
  }
  JobState then = state;
  Withdraw(step + 1, then);
  then.durable.assign(then.spec.data_parallel, step + 1);
  then.checkpoints = {step + 1};
  then.history.clear();
  return then;
}

absl::StatusOr<JobRestored> DecideRestore(const RestoreJob& command) {
  const absl::StatusOr<JobState> state = DecodeState(command.checkpoint);
  if (!state.ok()) return state.status();
  if (!state->created || !state->history.empty()) {
    return InvalidField("checkpoint", absl::StrCat(command.checkpoint.size(), " bytes"),
                        "what CheckpointJob returned");
  }
  return JobRestored{command.checkpoint};
}

}  // namespace evenpack
