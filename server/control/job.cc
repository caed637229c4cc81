#include "server/control/job.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/control/store_failure.h"
#include "server/core/engine/admission_rule.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"
#include "server/core/engine/stream_index.h"
#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

// A snapshot is written when the records since the last one have outgrown it, so that
// what a store holds of a job stays within a few times its state.
constexpr uint64_t kLeastSnapshotDistance = 4 << 20;

std::vector<DocumentRange> SkippedBy(const Command& command) {
  if (const auto* rewind = std::get_if<RewindJob>(&command)) return rewind->skip;
  if (const auto* rewind = std::get_if<RewindToCheckpoint>(&command)) {
    return rewind->skip;
  }
  if (const auto* skip = std::get_if<SkipDocuments>(&command)) return skip->skip;
  return {};
}

// The engine's refusal with what a client needs to go on.
absl::Status Explained(const Command& command, const absl::Status& status,
                       const JobState& state) {
  if (const auto* ingest = std::get_if<Ingest>(&command)) {
    const absl::StatusOr<uint32_t> stream = FindStream(state.spec, ingest->stream);
    if (!stream.ok()) return status;
    const uint64_t next = state.streams[*stream].next_sequence;
    const StatusDetail detail = {
        "", {{"stream", ingest->stream}, {"next_sequence", absl::StrCat(next)}}};
    if (absl::IsOutOfRange(status)) {
      return WithDetail(status, {"SEQUENCE_GAP", detail.values});
    }
    if (absl::IsAborted(status)) {
      return WithDetail(status, {"CONTENT_DIFFERS", detail.values});
    }
    if (absl::IsFailedPrecondition(status)) {
      return WithDetail(status, {"STREAM_ENDED", detail.values});
    }
  }
  if (absl::IsNotFound(status)) {
    for (const DocumentRange& range : SkippedBy(command)) {
      if (FindStream(state.spec, range.stream).ok()) continue;
      return WithDetail(status, {kStreamNotFound, {{"stream", range.stream}}});
    }
  }
  if (const auto* mark = std::get_if<Acknowledge>(&command)) {
    if (absl::IsAborted(status)) {
      return WithDetail(status, {kEpochEnded, {{"epoch", absl::StrCat(state.epoch)}}});
    }
    if (state.created && mark->data_parallel_rank >= state.spec.data_parallel) {
      return NoSuchRank("dp_rank", mark->data_parallel_rank, state.spec.data_parallel);
    }
  }
  return status;
}

absl::Status WentBack(const std::string& job) {
  return absl::UnavailableError(
      absl::StrCat("job: '", job,
                   "' went back to a checkpoint; open the stream again, which tells "
                   "the number of its next document"));
}

WaitingCounts CountsOf(const Waiting& waiting) {
  WaitingCounts counts;
  counts.queues.reserve(waiting.queues.size());
  for (const DocumentFifo& queue : waiting.queues) {
    counts.queues.push_back({queue.size(), queue.tokens()});
  }
  counts.left_over.documents = waiting.left_over.size();
  for (const Document& document : waiting.left_over) {
    counts.left_over.tokens += document.length;
  }
  return counts;
}

uint64_t TokensOf(const std::vector<Document>& documents) {
  uint64_t tokens = 0;
  for (const Document& document : documents) tokens += document.length;
  return tokens;
}

// An ingest whose tokens are to be read from their file; else null.
const Ingest* IngestFromFile(const Command& command) {
  const auto* const ingest = std::get_if<Ingest>(&command);
  const bool lacks =
      ingest != nullptr && ingest->token_file.has_value() && ingest->token_ids.empty();
  return lacks ? ingest : nullptr;
}

}  // namespace

Job::Job(std::string name, ControlEnvironment environment)
    : name_(std::move(name)),
      environment_(std::move(environment)),
      recorder_(name_, environment_.forecast),
      shown_(name_),
      calibration_(environment_.calibration),
      tokens_(name_, environment_.tokens_travel, environment_.store.Keeps()) {}

absl::Status Job::CheckShown() {
  if (absl::Status status = CheckAlive(); !status.ok()) return status;
  return shown_.IsShown() ? absl::OkStatus() : JobNotFound(name_);
}

absl::Status Job::CheckRemovable() {
  absl::Status status = CheckAlive();
  if (paused_ || abandoned_) return status;
  // What is broken can still go, also where that showed when it was read back.
  const bool broken = stale_ ? absl::IsDataLoss(why_stale_) : !broken_.ok();
  if (broken && !removing_) return absl::OkStatus();
  if (status.ok() && !state_.created) return JobNotFound(name_);
  return status;
}

void Job::Submit(const Command& command, const Done& done) {
  AnswerOrFlush(Enqueue(command, done, nullptr), done);
}

absl::Status Job::Enqueue(const Command& command, Done done,
                          std::shared_ptr<CommitListener> listener) {
  return EnqueueIfRoom(std::nullopt, command, std::move(done), std::move(listener))
      .status();
}

absl::StatusOr<bool> Job::EnqueueIfRoom(std::optional<size_t> stream,
                                        const Command& command, Done done,
                                        std::shared_ptr<CommitListener> listener) {
  ReadBack();
  std::optional<Command> read;
  if (const Ingest* const ingest = IngestFromFile(command); ingest != nullptr) {
    {
      MutexLock lock(mutex_);
      if (stream.has_value() && IsFull(*stream)) return false;
      absl::Status status = CheckBeforeReading(*ingest);
      if (!status.ok() && !IsOfBefore(command)) return status;
    }
    // Before the lock: a disk may take its time.
    absl::StatusOr<std::string> tokens =
        environment_.payload_root.Read(*ingest->token_file, ingest->lengths);
    if (!tokens.ok()) return tokens.status();
    Ingest with_tokens = *ingest;
    with_tokens.token_ids = *std::move(tokens);
    read = std::move(with_tokens);
  }
  MutexLock lock(mutex_);
  if (stream.has_value() && IsFull(*stream)) return false;
  CommitEntry entry = NewEntry();
  entry.listener = std::move(listener);
  absl::Status status = Take(read.has_value() ? *read : command, entry, done);
  if (status.ok()) return true;
  if (!IsOfBefore(command)) return status;
  EnqueueBarrier(std::move(entry),
                 [job = name_, done = std::move(done)](const absl::Status& outcome) {
                   done(outcome.ok() ? WentBack(job) : outcome);
                 });
  return true;
}

absl::Status Job::CheckBeforeReading(const Ingest& ingest) {
  absl::Status status = CheckAlive();
  if (!status.ok()) return status;
  status = Decide(state_, ingest).status();
  if (!status.ok()) return Explained(ingest, status, state_);
  return tokens_.CheckFile();
}

bool Job::IsOfBefore(const Command& command) {
  const bool sent = std::holds_alternative<Ingest>(command) ||
                    std::holds_alternative<EndOfStream>(command);
  return sent && going_back_ > 0 && CheckAlive().ok();
}

void Job::Flush() { environment_.committer.Flush(); }

void Job::FlushSoon() { environment_.committer.FlushSoon(); }

void Job::AnswerOrFlush(const absl::Status& status, const Done& done) {
  if (!status.ok()) return done(status);
  Flush();
}

void Job::Change(const Command& command, const DoneWith<JobStatus>& done) {
  ReadBack();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = TakeAndTell(command, done);
  }
  AnswerOrFlush(status, done);
}

void Job::Reconfigure(const CommandAt& command, std::optional<uint64_t> expected_epoch,
                      const DoneWith<JobStatus>& done) {
  ReadBack();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckAlive();
    if (status.ok() && expected_epoch.has_value() && *expected_epoch != state_.epoch) {
      status = EpochEnded(state_.spec, state_.epoch);
    }
    if (status.ok()) status = TakeAndTell(command(state_.position.next_step), done);
  }
  AnswerOrFlush(status, done);
}

absl::Status Job::TakeAndTell(const Command& command, const DoneWith<JobStatus>& done) {
  CommitEntry entry = NewEntry();
  const auto told = std::make_shared<JobStatus>();
  Done committed = [told, done](const absl::Status& status) {
    done(status.ok() ? absl::StatusOr<JobStatus>(*told) : status);
  };
  return Take(command, entry, committed, told.get());
}

void Job::Remove(const Done& done) {
  ReadBack();
  absl::Status status;
  {
    MutexLock lock(mutex_);
    status = CheckRemovable();
    if (status.ok()) {
      removing_ = true;
      CommitEntry entry = NewEntry();
      entry.writes.emplace_back(RemoveJob{name_});
      JobChange change;
      change.removed = true;
      Enqueue(std::move(entry), std::move(change), done);
    }
  }
  AnswerOrFlush(status, done);
}

void Job::Pause(const Done& settled) {
  {
    MutexLock lock(mutex_);
    paused_ = true;
    EnqueueBarrier(settled);
  }
  Flush();
}

void Job::GoOn() {
  MutexLock lock(mutex_);
  paused_ = false;
}

void Job::Abandon() { abandoned_ = true; }

void Job::EndCalls() {
  JobChange change;
  change.removed = true;
  shown_.Show(change);
  ReleaseCalls();
  Wake(shown_.TakeWoken());
}

absl::Status Job::Take(const Command& command, CommitEntry& entry, Done& done,
                       JobStatus* as_left) {
  if (absl::Status status = CheckAlive(); !status.ok()) return status;
  JobChange change;
  if (absl::Status status = DecideAndApply(command, entry, change); !status.ok()) {
    return status;
  }
  FormSteps(entry, change);
  // Before `done` may come, in another thread.
  if (as_left != nullptr) *as_left = StatusNow();
  Enqueue(std::move(entry), std::move(change), std::move(done));
  return absl::OkStatus();
}

absl::Status Job::DecideAndApply(const Command& command, CommitEntry& entry,
                                 JobChange& change) {
  const auto* const ingest = std::get_if<Ingest>(&command);
  if (ingest != nullptr) {
    if (absl::Status status = tokens_.Check(*ingest); !status.ok()) return status;
  }
  absl::StatusOr<Event> event = Decide(state_, command);
  if (!event.ok()) return Explained(command, event.status(), state_);
  if (absl::Status status = tokens_.Check(*event); !status.ok()) return status;
  if (const auto* accepted = std::get_if<DocumentsAccepted>(&*event)) {
    const size_t known = ingest->lengths.size() - accepted->documents.size();
    absl::Status status = tokens_.CheckResent(*ingest, accepted->stream, known);
    if (!status.ok()) return Explained(command, status, state_);
    // A re-send of what is known changes nothing, but waits for what made it known.
    if (accepted->documents.empty()) return absl::OkStatus();
    change.accepted = {accepted->stream, accepted->documents.size(),
                       TokensOf(accepted->documents)};
    tokens_.Accept(*ingest, accepted->stream, accepted->documents.size(),
                   state_.streams[accepted->stream].skipped, entry.writes);
  } else if (const auto* marked = std::get_if<DurableMarked>(&*event)) {
    const uint64_t known = state_.durable[marked->data_parallel_rank];
    change.marked = {marked->data_parallel_rank, std::max(known, marked->steps)};
    if (marked->steps <= known) return absl::OkStatus();
  }
  const bool restores = std::holds_alternative<JobRestored>(*event);
  const auto* updated = std::get_if<JobUpdated>(&*event);
  if (updated != nullptr && !updated->skipped.empty()) tokens_.Skip();
  const bool reshapes = restores || std::holds_alternative<JobCreated>(*event) ||
                        (updated != nullptr && updated->new_epoch);
  change.makes_job = !state_.created;
  Record(*std::move(event), entry);
  const Position& position = state_.position;
  if (restores) change.restored = {position.next_step, position.digest};
  going_back_ += restores && !change.makes_job ? 1 : 0;
  if (reshapes) {
    spec_ = std::make_shared<const JobSpec>(state_.spec);
    tokens_.Reshape(*spec_);
    // Before new steps are formed, the next one is the first of this shape.
    change.reshape = {position.next_step, spec_, state_.epoch, state_.durable};
  } else if (std::holds_alternative<CalibrateCost>(command)) {
    spec_ = std::make_shared<const JobSpec>(state_.spec);
    change.recosted = spec_;
  }
  return absl::OkStatus();
}

void Job::FormSteps(CommitEntry& entry, JobChange& change) {
  while (FormOneStep(entry, change)) {
  }
  tokens_.LetGo(state_, entry.writes);
  RecordSnapshot(entry);
  change.oldest_step = state_.checkpoints.front();
  change.drained = IsDrained(state_);
  ReleaseProducers();
}

void Job::ReleaseProducers() {
  // The lock is held while the function below runs, which the compiler can't see.
  const JobState* const state = &state_;
  auto ready = room_waiters_.TakeReady(
      [state](size_t stream) { return BufferIsFull(*state, stream); });
  for (RoomWaiters::Callback& callback : ready) {
    environment_.pool.Run(std::move(callback));
  }
}

bool Job::FormOneStep(CommitEntry& entry, JobChange& change) {
  const Clock::TimePoint start = environment_.clock.Now();
  absl::StatusOr<std::optional<StepDecided>> next = NextStep(state_, &of_waiting_);
  if (!next.ok()) {
    if (absl::IsInternal(next.status())) broken_ = next.status();
    return false;
  }
  if (!next->has_value()) return false;
  const Clock::TimePoint decided = environment_.clock.Now();
  StepDecided& decision = **next;
  auto tokens = tokens_.Of(decision.step);
  if (!tokens.ok()) {
    broken_ = tokens.status();
    return false;
  }
  auto published = Publish(decision.step, state_.position.digest, spec_, decided,
                           *std::move(tokens));
  if (!published.ok()) {
    broken_ = published.status();
    return false;
  }
  NewStep step;
  step.step = *std::move(published);
  step.batches_admitted = decision.batches_admitted;
  step.admitted = NextLengths(
      state_,
      std::accumulate(decision.admitted.begin(), decision.admitted.end(), uint64_t{0}));
  step.decide_seconds = SecondsBetween(start, decided);
  Record(std::move(decision), entry);
  step.waiting = CountsOf(state_.waiting);
  change.steps.push_back(std::move(step));
  return true;
}

void Job::Record(Event event, CommitEntry& entry) {
  const uint64_t number = records_++;
  if (environment_.store.Keeps()) {
    AppendRecord record{name_, number, EncodeEvent(event)};
    bytes_since_snapshot_ += record.bytes.size();
    entry.writes.emplace_back(std::move(record));
  }
  if (!LeavesWaiting(event)) of_waiting_ = {};
  Apply(std::move(event), state_);
}

void Job::RecordSnapshot(CommitEntry& entry) {
  if (bytes_since_snapshot_ < std::max(kLeastSnapshotDistance, 4 * snapshot_bytes_))
    return;
  WriteSnapshot snapshot{name_, records_, EncodeState(state_)};
  snapshot_bytes_ = snapshot.bytes.size();
  bytes_since_snapshot_ = 0;
  entry.writes.emplace_back(std::move(snapshot));
}

CommitEntry Job::NewEntry() {
  CommitEntry entry;
  entry.participant = shared_from_this();
  entry.incarnation = incarnation_;
  entry.enqueued = environment_.clock.Now();
  return entry;
}

void Job::Enqueue(CommitEntry entry, JobChange change, Done done) {
  const bool makes_job = change.makes_job;
  entry.done = [self = shared_from_this(), change = std::move(change),
                done = std::move(done), enqueued = entry.enqueued, records = records_,
                dropped = tokens_.Dropped(),
                makes_job](const absl::Status& status) mutable {
    if (status.ok()) {
      self->shown_records_ = records;
      if (dropped.has_value()) self->ForgetTokens(*dropped);
      self->OnCommitted(std::move(change), enqueued);
    }
    done(self->Outcome(status, makes_job));
  };
  environment_.committer.Enqueue(std::move(entry));
}

void Job::ForgetTokens(uint64_t dropped) {
  JobTokens::Batches forgotten;  // freed under no lock
  MutexLock lock(mutex_);
  forgotten = tokens_.Forget(dropped);
}

void Job::EnqueueBarrier(Done done) { EnqueueBarrier(NewEntry(), std::move(done)); }

void Job::EnqueueBarrier(CommitEntry entry, Done done) {
  entry.done = [self = shared_from_this(), done = std::move(done)](
                   const absl::Status& status) { done(self->Outcome(status)); };
  environment_.committer.Enqueue(std::move(entry));
}

absl::Status Job::Outcome(const absl::Status& committed, bool makes_job) const {
  const bool stands = committed.ok() || (makes_job && absl::IsAlreadyExists(committed));
  const bool holds = stands || IsCommitInDoubt(committed) || !abandoned_;
  return holds ? committed : JobNotFound(name_);
}

void Job::OnCommitted(JobChange change, Clock::TimePoint enqueued) {
  latency_.LetGo(shown_.Show(change));
  if (change.reshape.has_value()) {
    // Of a job that is as a checkpoint had it no step is known.
    latency_.Withdraw(change.restored.has_value() ? 0 : change.reshape->from_step);
    calibration_.Begin(change.reshape->epoch);
  }
  const bool removed = change.removed;
  const bool went_back = change.restored.has_value() && !change.makes_job;
  recorder_.Queue(std::move(change),
                  SecondsBetween(enqueued, environment_.clock.Now()));
  if (removed) ReleaseCalls();
  if (!went_back) return;
  EndProducers(WentBack(name_));
  MutexLock lock(mutex_);
  --going_back_;
}

void Job::ReleaseCalls() {
  std::vector<std::function<void()>> released;
  JobState forgotten;  // freed under no lock
  {
    MutexLock lock(mutex_);
    std::swap(forgotten, state_);
    tokens_.Clear();
    released = room_waiters_.TakeReady([](size_t) { return false; });
  }
  for (const std::function<void()>& callback : released) callback();
  EndProducers(JobNotFound(name_));
  Wake(groups_.EndAll(JobNotFound(name_)));
}

void Job::AfterCommit() {
  Wake(shown_.TakeWoken());
  recorder_.AddQueued();
  if (!recorder_.AreForecastsDue()) return;
  environment_.pool.Run(
      [self = shared_from_this()] { self->recorder_.AddForecasts(); });
}

}  // namespace evenpack
