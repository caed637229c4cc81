#include "server/core/engine/apply.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/engine/passing_over.h"
#include "server/core/engine/reconfigure.h"
#include "server/core/engine/state_codec.h"

namespace evenpack {
namespace {

void ApplyCreated(JobCreated event, JobState& state) {
  const size_t streams = event.spec.streams.size();
  state.created = true;
  state.spec = std::move(event.spec);
  state.streams.resize(streams);
  state.position.merge.credit.assign(streams, 0);
  state.position.merge.out.assign(streams, 0);
  state.waiting = Rearrange({}, state.spec.policy);
  state.durable.assign(state.spec.data_parallel, 0);
  state.checkpoints = {0};
  state.lineage = event.lineage;
}

// What was before an update at this step is in the history already.
bool IsRecorded(uint64_t from_step, const JobState& state) {
  if (state.history.empty()) return false;
  const auto* update = std::get_if<UpdateRecord>(&state.history.back());
  return update != nullptr && update->from_step == from_step;
}

void ApplyUpdated(JobUpdated event, JobState& state) {
  if (event.new_epoch) Withdraw(event.from_step, state);
  while (state.checkpoints.back() > event.from_step) state.checkpoints.pop_back();
  UpdateRecord record;
  record.from_step = event.from_step;
  record.spec_before = std::exchange(state.spec, std::move(event.spec));
  record.waiting_before = state.waiting;
  if (event.new_epoch && state.spec != record.spec_before) {
    state.waiting = Rearrange(state.waiting, state.spec.policy);
  }
  AddSkipped(event.skipped, state);
  PassOver(state);
  if (event.new_epoch) {
    state.durable.assign(state.spec.data_parallel, DurableSteps(state));
    ++state.epoch;
  }
  if (!IsRecorded(event.from_step, state)) {
    state.history.emplace_back(std::move(record));
  }
}

void ApplyAccepted(const DocumentsAccepted& event, JobState& state) {
  StreamState& stream = state.streams[event.stream];
  stream.resends.Append(event.documents);
  if (stream.skipped.empty()) {
    stream.buffer.PushBack(event.documents);
  } else {
    std::vector<Document> kept = event.documents;
    std::erase_if(kept, [&stream](const Document& document) {
      return IsIn(stream.skipped, document.sequence);
    });
    stream.buffer.PushBack(kept);
  }
  stream.next_sequence += event.documents.size();
}

void MoveQueues(StepDecided& event, StepRecord& record, JobState& state) {
  for (size_t k = 0; k < event.released.size(); ++k) {
    DocumentFifo& queue = state.waiting.queues[k];
    queue.PushBack(event.entered[k]);
    record.entered.push_back(event.entered[k].size());
    record.released.push_back(queue.PopFront(event.released[k]));
  }
}

void MoveLeftOver(StepDecided& event, StepRecord& record, JobState& state) {
  std::vector<Document>& left_over = state.waiting.left_over;
  record.left_over_taken = TakeAt(event.left_over_taken, left_over);
  record.left_over_positions = std::move(event.left_over_taken);
  record.left_over_added = event.left_over_added.size();
  left_over.insert(left_over.end(), event.left_over_added.begin(),
                   event.left_over_added.end());
}

void ApplyDecided(StepDecided event, JobState& state) {
  StepRecord record;
  record.from_plan = event.from_plan;
  record.before = state.position;
  Position& position = state.position;
  if (event.from_plan) {
    state.waiting.planned.erase(state.waiting.planned.begin());
  } else {
    for (size_t s = 0; s < event.admitted.size(); ++s) {
      record.admitted.push_back(state.streams[s].buffer.PopFront(event.admitted[s]));
      position.documents_admitted += event.admitted[s];
    }
    MoveQueues(event, record, state);
    MoveLeftOver(event, record, state);
    state.waiting.planned = std::move(event.planned);
    position.merge = std::move(event.merge);
    position.sketch = std::move(event.sketch);
    position.mean_delay = event.mean_delay;
    position.novelty = event.novelty;
  }
  position.batches_admitted = event.batches_admitted;
  position.digest = event.step.digest;
  ++position.next_step;
  record.step = std::move(event.step);
  state.history.emplace_back(std::move(record));
}

// Lets go of the history before the oldest checkpoint that is kept.
void LetGo(JobState& state, std::optional<uint64_t>& last_epoch) {
  const uint64_t floor = state.checkpoints.front();
  while (!state.history.empty()) {
    const HistoryRecord& first = state.history.front();
    const auto* step = std::get_if<StepRecord>(&first);
    const bool needed = step != nullptr
                            ? step->step.index >= floor
                            : std::get<UpdateRecord>(first).from_step >= floor;
    if (needed) return;
    if (step != nullptr) last_epoch = step->step.epoch;
    state.history.pop_front();
  }
}

void ApplyMarked(const DurableMarked& event, JobState& state,
                 std::optional<uint64_t>& let_go_epoch) {
  uint64_t& mark = state.durable[event.data_parallel_rank];
  mark = std::max(mark, event.steps);
  const uint64_t durable = DurableSteps(state);
  if (durable > state.checkpoints.back()) state.checkpoints.push_back(durable);
  while (state.checkpoints.size() > state.spec.retain_checkpoints) {
    state.checkpoints.pop_front();
  }
  LetGo(state, let_go_epoch);
}

struct Applier {
  JobState& state;
  std::optional<uint64_t>& let_go_epoch;

  void operator()(JobCreated event) const { ApplyCreated(std::move(event), state); }
  void operator()(JobUpdated event) const { ApplyUpdated(std::move(event), state); }
  void operator()(const DocumentsAccepted& event) const { ApplyAccepted(event, state); }
  void operator()(const StreamEnded& event) const {
    state.streams[event.stream].ended = true;
  }
  void operator()(StepDecided event) const { ApplyDecided(std::move(event), state); }
  void operator()(const DurableMarked& event) const {
    ApplyMarked(event, state, let_go_epoch);
  }
  void operator()(const JobRestored& event) const {
    // Checked when it was decided, or read.
    absl::StatusOr<JobState> restored = DecodeState(event.state);
    if (restored.ok()) state = *std::move(restored);
    let_go_epoch.reset();
  }
};

}  // namespace

void Apply(Event event, JobState& state, std::optional<uint64_t>* let_go_epoch) {
  std::optional<uint64_t> unwanted;
  std::visit(Applier{state, let_go_epoch != nullptr ? *let_go_epoch : unwanted},
             std::move(event));
}

}  // namespace evenpack
