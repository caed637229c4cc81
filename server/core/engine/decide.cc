#include "server/core/engine/decide.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/core/engine/calibrate.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/ingest.h"
#include "server/core/engine/reconfigure.h"
#include "server/core/engine/step_formation.h"

namespace evenpack {
namespace {

absl::StatusOr<JobCreated> DecideCreate(const CreateJob& command) {
  if (absl::Status status = Validate(command.spec); !status.ok()) return status;
  return JobCreated{command.spec, command.lineage};
}

absl::StatusOr<DurableMarked> DecideAcknowledge(const JobState& state,
                                                const Acknowledge& command) {
  if (command.data_parallel_rank >= state.spec.data_parallel) {
    return absl::OutOfRangeError(absl::StrCat(
        "data_parallel_rank: ", command.data_parallel_rank,
        " is not accepted; accepted: 0 to ", state.spec.data_parallel - 1));
  }
  const uint64_t next = state.position.next_step;
  if (command.step >= next) {
    return absl::OutOfRangeError(absl::StrCat(
        "step: ", command.step, " is not decided; accepted: ",
        next == 0 ? "none, since no step is" : absl::StrCat("below ", next)));
  }
  // A step that was let go is durable already: the mark changes nothing.
  const Step* step = FindStep(state, command.step);
  if (step != nullptr && step->epoch != command.epoch) {
    return absl::AbortedError(
        absl::StrCat("epoch: ", command.epoch, " is not that of step ", command.step,
                     "; accepted: ", step->epoch, ", under which it was formed anew"));
  }
  return DurableMarked{command.data_parallel_rank, command.step + 1};
}

// One overload for each command; all but CreateJob and RestoreJob are asked of a
// created job.
struct Decider {
  const JobState& state;

  absl::StatusOr<Event> operator()(const CreateJob& command) const {
    if (state.created) return absl::AlreadyExistsError("the job exists already");
    return DecideCreate(command);
  }
  absl::StatusOr<Event> operator()(const UpdateJob& command) const {
    return DecideUpdate(state, command);
  }
  absl::StatusOr<Event> operator()(const Ingest& command) const {
    return DecideIngest(state, command);
  }
  absl::StatusOr<Event> operator()(const EndOfStream& command) const {
    return DecideEndOfStream(state, command);
  }
  absl::StatusOr<Event> operator()(const FormStep&) const { return DecideStep(state); }
  absl::StatusOr<Event> operator()(const Acknowledge& command) const {
    return DecideAcknowledge(state, command);
  }
  absl::StatusOr<Event> operator()(const RestoreJob& command) const {
    if (state.created) return absl::AlreadyExistsError("the job exists already");
    return DecideRestore(command);
  }
  absl::StatusOr<Event> operator()(const RewindJob& command) const {
    return DecideRewind(state, command);
  }
  absl::StatusOr<Event> operator()(const RewindToCheckpoint& command) const {
    return DecideRewindToCheckpoint(state, command);
  }
  absl::StatusOr<Event> operator()(const SkipDocuments& command) const {
    return DecideSkip(state, command);
  }
  absl::StatusOr<Event> operator()(const CalibrateCost& command) const {
    return DecideCalibration(state, command);
  }
};

}  // namespace

absl::StatusOr<Event> Decide(const JobState& state, const Command& command) {
  if (!state.created && !std::holds_alternative<CreateJob>(command) &&
      !std::holds_alternative<RestoreJob>(command)) {
    return absl::NotFoundError("the job was not created");
  }
  return std::visit(Decider{state}, command);
}

}  // namespace evenpack
