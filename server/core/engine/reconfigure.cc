#include "server/core/engine/reconfigure.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_layout.h"

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

absl::Status DoesNotFit(const Document& document, const JobState& state,
                        absl::string_view reason) {
  return absl::FailedPreconditionError(absl::StrCat(
      "sequence ", document.sequence, " of stream '",
      state.spec.streams[document.stream].name, "', which waits, ", reason));
}

absl::Status CheckLengths(const JobState& state, const JobSpec& spec) {
  absl::Status status;
  const uint32_t longest = LongestDocument(spec);
  const auto check = [&status, &state, &spec, longest](const Document& document) {
    if (status.ok() && document.length > longest) {
      status = DoesNotFit(
          document, state,
          absl::StrCat("has ", document.length, " tokens and max_length would be ",
                       spec.max_length,
                       longest < spec.max_length
                           ? absl::StrCat(", which with padding holds ", longest)
                           : ""));
    }
  };
  ForEachWaiting(state.waiting, check);
  if (spec.split_overlong) return status;
  for (const StreamState& stream : state.streams) {
    for (const Document& document : stream.buffer.view()) check(document);
  }
  return status;
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

absl::StatusOr<JobUpdated> DecideUpdate(const JobState& state,
                                        const UpdateJob& command) {
  if (absl::Status status = Validate(command.spec); !status.ok()) return status;
  if (command.spec.streams != state.spec.streams) {
    return InvalidField("streams",
                        absl::StrCat("a list of ", command.spec.streams.size(),
                                     " with other names or weights"),
                        "the streams that the job was created with");
  }
  if (command.spec.merge != state.spec.merge) {
    return InvalidField("merge", static_cast<uint32_t>(command.spec.merge),
                        "the merge that the job was created with");
  }
  const uint64_t durable = DurableSteps(state);
  const uint64_t next = state.position.next_step;
  if (command.from_step < durable || command.from_step > next) {
    return absl::OutOfRangeError(absl::StrCat(
        "from_step: ", command.from_step, " is not accepted; accepted: ", durable,
        " to ", next, " (above the last durable step, up to the next one)"));
  }
  JobState then = state;
  Withdraw(command.from_step, then);
  for (const auto check : {CheckLengths, CheckAges}) {
    if (absl::Status status = check(then, command.spec); !status.ok()) return status;
  }
  return JobUpdated{command.from_step, command.spec};
}

}  // namespace evenpack
