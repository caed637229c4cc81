#include "server/core/engine/reconfigure.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/passing_over.h"

namespace evenpack {
namespace {

void Undo(StepRecord record, JobState& state) {
  for (size_t s = 0; s < record.admitted.size(); ++s) {
    state.streams[s].buffer.PushFront(record.admitted[s]);
  }
  Waiting& waiting = state.waiting;
  for (size_t k = 0; k < record.released.size(); ++k) {
    waiting.queues[k].PushFront(record.released[k]);
    waiting.queues[k].DropBack(record.entered[k]);
  }
  if (record.from_plan) {
    Step planned;
    planned.kind = record.step.kind;
    planned.micro_batches = std::move(record.step.micro_batches);
    waiting.planned.insert(waiting.planned.begin(), std::move(planned));
  } else {
    waiting.planned.clear();
    std::vector<Document>& left_over = waiting.left_over;
    left_over.resize(left_over.size() - record.left_over_added);
    PutBackAt(record.left_over_positions, record.left_over_taken, left_over);
  }
  state.position = std::move(record.before);
}

// That under which the step was decided; the job's for one that is yet to be.
const JobSpec& SpecOfStep(const JobState& state, uint64_t step) {
  const JobSpec* spec = &state.spec;
  for (size_t i = state.history.size(); i-- > 0;) {
    const auto* update = std::get_if<UpdateRecord>(&state.history[i]);
    if (update == nullptr) continue;
    if (update->from_step <= step) break;
    spec = &update->spec_before;
  }
  return *spec;
}

absl::Status DoesNotFit(const Document& document, const JobState& state,
                        absl::string_view reason) {
  return absl::FailedPreconditionError(absl::StrCat(
      "sequence ", document.sequence, " of stream '",
      state.spec.streams[document.stream].name, "', which waits, ", reason));
}

absl::Status CheckAges(const JobState& state, const JobSpec& spec) {
  absl::Status status;
  if (!spec.max_delay.has_value()) return status;
  ForEachWaiting(state.waiting, [&](const Document& document) {
    // The latest batch admitted is batches_admitted - 1, and waiting documents have
    // one.
    const uint64_t delay = state.position.batches_admitted - 1 - document.batch;
    if (status.ok() && delay > *spec.max_delay) {
      status = DoesNotFit(document, state,
                          absl::StrCat("has a delay of ", delay,
                                       " and max_delay would be ", *spec.max_delay));
    }
  });
  return status;
}

absl::Status CheckNewSpec(const JobState& state, const JobSpec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  if (spec.streams != state.spec.streams) {
    return InvalidField(
        "streams",
        absl::StrCat("a list of ", spec.streams.size(), " with other names or weights"),
        "the streams that the job was created with");
  }
  if (spec.merge != state.spec.merge) {
    return InvalidField("merge",
                        spec.merge == MergeMode::kArrival ? "arrival" : "interleave",
                        "the merge that the job was created with");
  }
  return absl::OkStatus();
}

absl::Status CheckFromStep(const JobState& state, uint64_t from_step, uint64_t least,
                           absl::string_view what_least_is) {
  const uint64_t next = state.position.next_step;
  if (from_step >= least && from_step <= next) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("from_step: ", from_step, " is not accepted; accepted: ", least,
                   " to ", next, " (", what_least_is, ", up to the next one)"));
}

absl::Status CheckAboveDurable(const JobState& state, uint64_t from_step) {
  return CheckFromStep(state, from_step, DurableSteps(state),
                       "above the last durable step");
}

// No subscription of the new shape can ask for what ranks that it doesn't have have of
// a step.
absl::Status CheckNoRankIsLost(const JobState& state, const JobSpec& spec) {
  const uint64_t durable = DurableSteps(state);
  uint32_t data_parallel = 0;
  uint32_t context_parallel = 0;
  // Of steps [begin, end), which `of` decided.
  uint64_t end = state.position.next_step;
  const auto take = [&](uint64_t begin, const JobSpec& of) {
    if (end > std::max(begin, durable)) {
      data_parallel = std::max(data_parallel, of.data_parallel);
      context_parallel = std::max(context_parallel, of.context_parallel);
    }
    end = std::min(end, begin);
  };
  const JobSpec* of = &state.spec;
  for (size_t i = state.history.size(); i-- > 0;) {
    const auto* update = std::get_if<UpdateRecord>(&state.history[i]);
    if (update == nullptr) continue;
    take(update->from_step, *of);
    of = &update->spec_before;
  }
  take(0, *of);
  if (data_parallel <= spec.data_parallel &&
      context_parallel <= spec.context_parallel) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "from_step: not set is not accepted where steps from ", durable,
      " on aren't durable and have ", data_parallel, " x ", context_parallel,
      " ranks (data x context parallel), the new shape ", spec.data_parallel, " x ",
      spec.context_parallel, "; accepted: ", durable,
      ", which withdraws them, or up to ", state.position.next_step,
      ", which leaves those below to the ranks that have them"));
}

absl::StatusOr<JobUpdated> Reconfigured(const JobState& state, uint64_t from_step,
                                        const JobSpec& spec,
                                        const std::vector<DocumentRange>& ranges) {
  auto skipped = ReadRanges(state, ranges);
  if (!skipped.ok()) return skipped.status();
  JobState then = state;
  Withdraw(from_step, then);
  AddSkipped(*skipped, then);
  PassOver(then);
  JobUpdated event;
  event.from_step = from_step;
  event.spec = spec;
  event.skipped = *std::move(skipped);
  if (absl::Status status = CheckFits(then, event.spec); !status.ok()) return status;
  return event;
}

absl::Status CheckLengths(const JobState& state, const JobSpec& spec) {
  absl::Status status;
  const uint32_t longest = LongestDocument(spec);
  const auto check = [&](const Document& document, uint32_t most) {
    if (!status.ok() || document.length <= most) return;
    status = DoesNotFit(
        document, state,
        absl::StrCat(
            "has ", document.length, " tokens and max_length would be ",
            spec.max_length,
            longest < spec.max_length
                ? absl::StrCat(", which with padding holds ", longest)
                : "",
            most > longest ? absl::StrCat(" in each of ", kMaxPieces, " pieces") : ""));
  };
  // What waits was cut before; what is buffered would be cut anew.
  ForEachWaiting(state.waiting,
                 [&](const Document& document) { check(document, longest); });
  const uint32_t accepted = LongestAccepted(spec);
  for (const StreamState& stream : state.streams) {
    for (const Document& document : stream.buffer.view()) check(document, accepted);
  }
  return status;
}

}  // namespace

void Withdraw(uint64_t from_step, JobState& state) {
  for (uint64_t& mark : state.durable) mark = std::min(mark, from_step);
  while (!state.history.empty()) {
    HistoryRecord& last = state.history.back();
    if (auto* step = std::get_if<StepRecord>(&last); step != nullptr) {
      if (step->step.index < from_step) return;
      Undo(std::move(*step), state);
    } else {
      auto& update = std::get<UpdateRecord>(last);
      if (update.from_step < from_step) return;
      state.spec = std::move(update.spec_before);
      state.waiting = std::move(update.waiting_before);
      state.durable.assign(state.spec.data_parallel, DurableSteps(state));
    }
    state.history.pop_back();
  }
}

absl::Status CheckFits(const JobState& state, const JobSpec& spec) {
  for (const auto check : {CheckLengths, CheckAges}) {
    if (absl::Status status = check(state, spec); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<JobUpdated> DecideUpdate(const JobState& state,
                                        const UpdateJob& command) {
  if (absl::Status status = CheckNewSpec(state, command.spec); !status.ok()) {
    return status;
  }
  const uint64_t from_step = command.from_step.value_or(state.position.next_step);
  if (absl::Status status = CheckAboveDurable(state, from_step); !status.ok()) {
    return status;
  }
  if (!command.from_step.has_value()) {
    absl::Status status = CheckNoRankIsLost(state, command.spec);
    if (!status.ok()) return status;
  }
  return Reconfigured(state, from_step, command.spec, {});
}

absl::StatusOr<JobUpdated> DecideRewind(const JobState& state,
                                        const RewindJob& command) {
  if (command.spec.has_value()) {
    if (absl::Status status = CheckNewSpec(state, *command.spec); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status =
          CheckFromStep(state, command.from_step, state.checkpoints.front(),
                        "from the oldest checkpoint");
      !status.ok()) {
    return status;
  }
  return Reconfigured(
      state, command.from_step,
      command.spec.has_value() ? *command.spec : SpecOfStep(state, command.from_step),
      command.skip);
}

absl::StatusOr<JobUpdated> DecideSkip(const JobState& state,
                                      const SkipDocuments& command) {
  if (command.skip.empty()) {
    return InvalidField("skip", "nothing", "at least one range of documents");
  }
  if (absl::Status status = CheckAboveDurable(state, command.from_step); !status.ok()) {
    return status;
  }
  absl::StatusOr<JobUpdated> event =
      Reconfigured(state, command.from_step, state.spec, command.skip);
  if (event.ok()) event->new_epoch = command.from_step < state.position.next_step;
  return event;
}

}  // namespace evenpack
