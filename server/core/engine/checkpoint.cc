#include "server/core/engine/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/passing_over.h"
#include "server/core/engine/reconfigure.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {
namespace {

absl::StatusOr<JobState> ReadCheckpoint(const std::string& bytes) {
  if (bytes.empty()) {
    return InvalidField("checkpoint", "0 bytes", "what CheckpointJob returned");
  }
  absl::StatusOr<JobState> state = DecodeState(bytes);
  if (!state.ok()) {
    return absl::Status(state.status().code(),
                        absl::StrCat("checkpoint: ", state.status().message()));
  }
  if (!state->created || !state->history.empty()) {
    return InvalidField("checkpoint", absl::StrCat(bytes.size(), " bytes"),
                        "what CheckpointJob returned");
  }
  // Whoever gives one may have made it.
  absl::Status status = CheckRankMicroBatches(state->spec);
  if (status.ok()) status = CheckSkipped(*state);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("checkpoint: ", status.message()));
  }
  return state;
}

// Whether `state` was at the checkpoint's step what the checkpoint is, but for what was
// accepted meanwhile, and can be taken back there. Both without what `state` skips.
bool HoldsSamePoint(const JobState& state, const JobState& checkpoint) {
  const uint64_t next = checkpoint.position.next_step;
  if (next < state.checkpoints.front() || next > state.position.next_step) return false;
  JobState then = state;
  Withdraw(next, then);
  PassOver(then);
  return then.position == checkpoint.position && then.waiting == checkpoint.waiting &&
         then.spec == checkpoint.spec;
}

}  // namespace

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
  PassOver(then);
  if (absl::Status status = CheckFits(then, then.spec); !status.ok()) return status;
  then.durable.assign(then.spec.data_parallel, step + 1);
  then.checkpoints = {step + 1};
  then.history.clear();
  return then;
}

absl::StatusOr<JobRestored> DecideRestore(const RestoreJob& command) {
  const absl::StatusOr<JobState> state = ReadCheckpoint(command.checkpoint);
  if (!state.ok()) return state.status();
  return JobRestored{command.checkpoint};
}

absl::StatusOr<Event> DecideRewindToCheckpoint(const JobState& state,
                                               const RewindToCheckpoint& command) {
  absl::StatusOr<JobState> checkpoint = ReadCheckpoint(command.checkpoint);
  if (!checkpoint.ok()) return checkpoint.status();
  if (checkpoint->spec.streams != state.spec.streams ||
      checkpoint->spec.merge != state.spec.merge) {
    return absl::FailedPreconditionError(
        "checkpoint: it is of a job with other streams or another merge; accepted: "
        "one of this job");
  }
  if (checkpoint->lineage != state.lineage) {
    return absl::FailedPreconditionError(
        "checkpoint: it is of another job; accepted: one of this job or of one that it "
        "was forked or restored from (RestoreJob makes a new job of any)");
  }
  std::vector<SequenceRanges> own;
  for (const StreamState& stream : checkpoint->streams) own.push_back(stream.skipped);
  // A skip holds whatever is rewound.
  for (size_t s = 0; s < state.streams.size(); ++s) {
    for (const SequenceRange& range : state.streams[s].skipped) {
      AddRange(range, checkpoint->streams[s].skipped);
    }
  }
  PassOver(*checkpoint);
  if (HoldsSamePoint(state, *checkpoint)) {
    RewindJob rewind = {checkpoint->position.next_step, checkpoint->spec, command.skip};
    // Its own as well, which the job need not have.
    for (size_t s = 0; s < state.streams.size(); ++s) {
      for (const SequenceRange& range : own[s]) {
        if (NextOutside(state.streams[s].skipped, range.first) >= range.end) continue;
        rewind.skip.push_back(
            {state.spec.streams[s].name, range.first, range.end - range.first});
      }
    }
    return DecideRewind(state, rewind);
  }
  if (absl::Status status = CheckSkipped(*checkpoint); !status.ok()) return status;
  const auto skipped = ReadRanges(*checkpoint, command.skip);
  if (!skipped.ok()) return skipped.status();
  AddSkipped(*skipped, *checkpoint);
  PassOver(*checkpoint);
  checkpoint->epoch = std::max(checkpoint->epoch, state.epoch) + 1;
  return JobRestored{EncodeState(*checkpoint)};
}

}  // namespace evenpack
