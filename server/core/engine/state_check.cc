#include "server/core/engine/state_check.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/waiting.h"

namespace evenpack {
namespace {

// Far beyond what turns of at most 1,024 streams of weights up to 10^6 leave owed.
constexpr int64_t kMostCredit = int64_t{1} << 40;

// Of steps, documents and the like: a job that makes a billion a second comes there in
// 70 years, and may go on.
constexpr uint64_t kMostCounted = uint64_t{1} << 61;

absl::Status Contradiction(absl::string_view part) {
  return absl::DataLossError(absl::StrCat("state: ", part, " contradicts the rest"));
}

bool IsPieceOfStream(const Document& document, size_t streams) {
  return IsPiece(document) && document.stream < streams;
}

// What waits, or was packed, under `spec`.
bool AreAdmitted(std::span<const Document> documents, const JobSpec& spec,
                 const Position& position) {
  const uint32_t longest = LongestDocument(spec);
  return std::all_of(documents.begin(), documents.end(), [&](const Document& document) {
    return IsPieceOfStream(document, spec.streams.size()) &&
           document.length <= longest && document.batch < position.batches_admitted &&
           document.order < position.documents_admitted;
  });
}

bool IsChosen(Sharding sharding, const JobSpec& spec) {
  return (IsChosenPerMicroBatch(spec.sharding) && sharding < Sharding::kAdaptive) ||
         (sharding == spec.sharding && sharding != Sharding::kAdaptive);
}

bool IsMicroBatch(const MicroBatch& micro_batch, const JobSpec& spec,
                  const Position& position) {
  uint64_t tokens = 0;
  for (const Document& document : micro_batch.documents) tokens += document.length;
  return micro_batch.tokens == tokens &&
         micro_batch.padding == PaddingOf(PaddingRuleOf(spec), micro_batch) &&
         tokens + micro_batch.padding <= spec.max_length &&
         micro_batch.documents.size() <= CapacityOf(spec).documents &&
         IsChosen(micro_batch.sharding, spec) &&
         AreAdmitted(micro_batch.documents, spec, position);
}

bool IsStep(const Step& step, const JobSpec& spec, const Position& position) {
  return step.kind <= StepKind::kDrain &&
         step.micro_batches.size() == spec.micro_batches &&
         std::all_of(step.micro_batches.begin(), step.micro_batches.end(),
                     [&](const MicroBatch& micro_batch) {
                       return IsMicroBatch(micro_batch, spec, position);
                     });
}

bool IsWaiting(const Waiting& waiting, const JobSpec& spec, const Position& position) {
  return waiting.queues.size() == QueueCount(spec.policy) &&
         (waiting.planned.empty() || spec.policy.kind == PolicyKind::kFixedGreedy) &&
         AreAdmitted(waiting.left_over, spec, position) &&
         std::all_of(waiting.queues.begin(), waiting.queues.end(),
                     [&](const DocumentFifo& queue) {
                       return AreAdmitted(queue.view(), spec, position);
                     }) &&
         std::all_of(waiting.planned.begin(), waiting.planned.end(),
                     [&](const Step& step) { return IsStep(step, spec, position); });
}

// Documents of stream `index` as they were accepted: rising, up to `next`, with gaps
// only where the stream skips.
bool AreAccepted(std::span<const Document> documents, uint32_t index,
                 const SequenceRanges& skipped, uint64_t next) {
  for (size_t i = documents.size(); i-- > 0;) {
    const Document& document = documents[i];
    if (!IsPiece(document) || document.stream != index ||
        document.length != document.document_length || document.sequence >= next ||
        NextOutside(skipped, document.sequence + 1) < next) {
      return false;
    }
    next = document.sequence;
  }
  return true;
}

bool IsCursor(const MergeCursor& cursor, size_t streams) {
  return cursor.credit.size() == streams && cursor.out.size() == streams &&
         std::all_of(cursor.credit.begin(), cursor.credit.end(),
                     [](int64_t credit) {
                       return credit >= -kMostCredit && credit <= kMostCredit;
                     }) &&
         std::all_of(cursor.out.begin(), cursor.out.end(),
                     [](uint8_t out) { return out <= 1; });
}

absl::Status CheckStreams(const JobState& state) {
  const JobSpec& spec = state.spec;
  if (state.streams.size() != spec.streams.size()) return Contradiction("streams");
  for (size_t s = 0; s < state.streams.size(); ++s) {
    const StreamState& stream = state.streams[s];
    const std::span<const Document> buffer = stream.buffer.view();
    const uint32_t longest = LongestAccepted(spec);
    const bool fits =
        std::all_of(buffer.begin(), buffer.end(), [&](const Document& document) {
          return document.length <= longest && !IsIn(stream.skipped, document.sequence);
        });
    const size_t hashes = stream.resends.Hashes().size();
    if (!fits || hashes > stream.next_sequence || !AreRanges(stream.skipped) ||
        !AreAccepted(buffer, static_cast<uint32_t>(s), stream.skipped,
                     stream.next_sequence)) {
      return Contradiction(absl::StrCat("stream '", spec.streams[s].name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCounters(const JobState& state) {
  const Position& position = state.position;
  std::vector<uint64_t> counters = {state.epoch, position.next_step,
                                    position.batches_admitted,
                                    position.documents_admitted};
  for (const StreamState& stream : state.streams) {
    counters.push_back(stream.next_sequence);
  }
  const uint64_t most = *std::max_element(counters.begin(), counters.end());
  return most <= kMostCounted ? absl::OkStatus() : Contradiction("a counter");
}

absl::Status CheckMarks(const JobState& state) {
  const std::deque<uint64_t>& checkpoints = state.checkpoints;
  if (state.durable.size() != state.spec.data_parallel || checkpoints.empty() ||
      std::adjacent_find(checkpoints.begin(), checkpoints.end(),
                         std::greater_equal<>()) != checkpoints.end() ||
      checkpoints.back() > DurableSteps(state) ||
      *std::max_element(state.durable.begin(), state.durable.end()) >
          state.position.next_step) {
    return Contradiction("durable marks");
  }
  return absl::OkStatus();
}

// Undoes the history as Withdraw() does, and checks that every state on the way is one:
// what waits in it was admitted before.
class HistoryWalk {
 public:
  explicit HistoryWalk(const JobState& state)
      : streams_(state.streams),
        spec_(&state.spec),
        position_(&state.position),
        waiting_(state.waiting) {
    for (const StreamState& stream : state.streams) {
      first_.push_back(stream.buffer.empty() ? stream.next_sequence
                                             : stream.buffer.front().sequence);
    }
  }

  bool Undo(const HistoryRecord& record) {
    const auto* step = std::get_if<StepRecord>(&record);
    return step != nullptr ? UndoStep(*step)
                           : UndoUpdate(std::get<UpdateRecord>(record));
  }

  // Index of the first step that was undone, or of the next one where none was.
  uint64_t first_step() const { return position_->next_step; }
  // Whether what waits now does so in the state that the walk has come to. What left it
  // on the way was looked at as it left, in the earliest state that had it.
  bool Waits() const { return IsWaiting(waiting_, *spec_, *position_); }

 private:
  bool UndoStep(const StepRecord& record) {
    if (record.step.index + 1 != position_->next_step ||
        record.before.next_step != record.step.index ||
        record.step.digest != position_->digest ||
        !IsCursor(record.before.merge, streams_.size()) ||
        record.before.batches_admitted > position_->batches_admitted ||
        record.before.documents_admitted > position_->documents_admitted ||
        !IsStep(record.step, *spec_, *position_)) {
      return false;
    }
    if (record.from_plan) {
      // It admitted nothing, and its documents were planned before.
      if (record.before.batches_admitted != position_->batches_admitted ||
          record.before.documents_admitted != position_->documents_admitted) {
        return false;
      }
    } else if (!UndoAdmission(record) || !UndoQueues(record) || !UndoLeftOver(record)) {
      return false;
    }
    position_ = &record.before;
    return true;
  }

  bool UndoAdmission(const StepRecord& record) {
    if (record.admitted.size() != streams_.size()) return false;
    for (size_t s = 0; s < streams_.size(); ++s) {
      const std::vector<Document>& admitted = record.admitted[s];
      if (!AreAccepted(admitted, static_cast<uint32_t>(s), streams_[s].skipped,
                       first_[s])) {
        return false;
      }
      if (!admitted.empty()) first_[s] = admitted.front().sequence;
    }
    return true;
  }

  bool UndoQueues(const StepRecord& record) {
    std::vector<DocumentFifo>& queues = waiting_.queues;
    if (record.entered.size() != queues.size() ||
        record.released.size() != queues.size()) {
      return false;
    }
    for (size_t k = 0; k < queues.size(); ++k) {
      queues[k].PushFront(record.released[k]);
      const std::span<const Document> held = queues[k].view();
      if (record.entered[k] > held.size() ||
          !AreAdmitted(held.last(record.entered[k]), *spec_, *position_)) {
        return false;
      }
      queues[k].DropBack(record.entered[k]);
    }
    return true;
  }

  bool UndoLeftOver(const StepRecord& record) {
    const std::vector<uint64_t>& positions = record.left_over_positions;
    std::vector<Document>& left_over = waiting_.left_over;
    if (record.left_over_added > left_over.size() ||
        record.left_over_taken.size() != positions.size() ||
        !AreAdmitted(std::span(left_over).last(record.left_over_added), *spec_,
                     *position_)) {
      return false;
    }
    left_over.resize(left_over.size() - record.left_over_added);
    const bool rise = std::adjacent_find(positions.begin(), positions.end(),
                                         std::greater_equal<>()) == positions.end();
    if (!rise || (!positions.empty() &&
                  positions.back() >= left_over.size() + positions.size())) {
      return false;
    }
    PutBackAt(positions, record.left_over_taken, left_over);
    waiting_.planned.clear();
    return true;
  }

  bool UndoUpdate(const UpdateRecord& record) {
    if (record.from_step != position_->next_step || !Waits() ||
        !Validate(record.spec_before).ok() ||
        record.spec_before.streams != spec_->streams ||
        record.spec_before.merge != spec_->merge ||
        !IsWaiting(record.waiting_before, record.spec_before, *position_)) {
      return false;
    }
    spec_ = &record.spec_before;
    waiting_ = record.waiting_before;
    return true;
  }

  const std::vector<StreamState>& streams_;
  const JobSpec* spec_;
  const Position* position_;
  // Per stream, the first document of the buffer as it was, or the next one.
  std::vector<uint64_t> first_;
  // But for planned steps that were undone: they are checked as steps.
  Waiting waiting_;
};

// Of all specs that its steps were packed under.
absl::Status CheckNotNewer(const JobState& state) {
  absl::Status status = CheckNotNewer(state.spec);
  for (const HistoryRecord& record : state.history) {
    const auto* const update = std::get_if<UpdateRecord>(&record);
    if (update != nullptr) status.Update(CheckNotNewer(update->spec_before));
  }
  if (status.ok()) return status;
  return absl::FailedPreconditionError(absl::StrCat("state: ", status.message()));
}

}  // namespace

absl::Status CheckState(const JobState& state) {
  if (!state.created) {
    return state == JobState() ? absl::OkStatus() : Contradiction("created");
  }
  if (absl::Status status = CheckNotNewer(state); !status.ok()) return status;
  if (absl::Status status = Validate(state.spec); !status.ok()) {
    return absl::DataLossError(absl::StrCat("state: ", status.message()));
  }
  for (const auto check : {CheckCounters, CheckStreams, CheckMarks}) {
    if (absl::Status status = check(state); !status.ok()) return status;
  }
  if (!IsCursor(state.position.merge, state.streams.size())) {
    return Contradiction("merge");
  }
  if (!IsWaiting(state.waiting, state.spec, state.position)) {
    return Contradiction("waiting");
  }
  HistoryWalk walk(state);
  for (size_t i = state.history.size(); i-- > 0;) {
    if (!walk.Undo(state.history[i])) {
      return Contradiction(absl::StrCat("history[", i, "]"));
    }
  }
  if (!walk.Waits()) return Contradiction("waiting");
  if (walk.first_step() != state.checkpoints.front()) {
    return Contradiction("the oldest checkpoint");
  }
  return absl::OkStatus();
}

}  // namespace evenpack
