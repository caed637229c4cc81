#include "server/control/committer.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "server/control/store_failure.h"
#include "server/runtime/fault_point.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

// A producer that waits for its answers before it sends more waits for one look.
constexpr int kLooks = 10;
// Of these, in which so many calls make gathering worth while.
constexpr int kBusyLooks = 3;

absl::Status NotStored(const absl::Status& cause) {
  // Another server made a job of the name: trying again won't help.
  if (absl::IsAlreadyExists(cause)) return cause;
  return absl::IsUnknown(cause) ? CommitInDoubt(cause)
                                : StoreFailure("the change was not stored", cause);
}

uint64_t BytesOf(const StoreWrite& write) {
  if (const auto* record = std::get_if<AppendRecord>(&write)) {
    return record->bytes.size();
  }
  if (const auto* snapshot = std::get_if<WriteSnapshot>(&write)) {
    return snapshot->bytes.size();
  }
  if (const auto* tokens = std::get_if<PutTokens>(&write)) {
    return tokens->bytes.size();
  }
  if (const auto* profile = std::get_if<WriteProfile>(&write)) {
    return profile->bytes.size();
  }
  return 0;
}

bool IsStale(const CommitEntry& entry) {
  return entry.incarnation != entry.participant->incarnation();
}

void Finish(CommitEntry& entry, const absl::Status& status) {
  FaultPoint("reply.before");
  entry.done(status);
  // Frees what the closure holds before the next one runs.
  entry.done = nullptr;
}

// Each listener once.
void TellListeners(std::vector<CommitEntry> entries) {
  std::vector<std::shared_ptr<CommitListener>> listeners;
  for (CommitEntry& entry : entries) {
    listeners.push_back(std::move(entry.participant));
    if (entry.listener != nullptr) listeners.push_back(std::move(entry.listener));
  }
  std::sort(listeners.begin(), listeners.end());
  listeners.erase(std::unique(listeners.begin(), listeners.end()), listeners.end());
  for (const auto& listener : listeners) listener->AfterCommit();
  FaultPoint("reply.after");
}

}  // namespace

Committer::Committer(StateStore& store, std::chrono::microseconds gather,
                     const Clock& clock)
    : store_(store),
      commits_wait_(store.CommitWaits()),
      gather_(gather),
      clock_(clock) {
  if (commits_wait_) {
    thread_ = std::thread([this] { Work(); });
  } else if (gather_.count() > 0) {
    thread_ = std::thread([this] { Gather(); });
  }
}

Committer::~Committer() { Stop(); }

void Committer::Stop() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
  if (thread_.joinable()) thread_.join();
  while (true) {
    CommitQueued();
    MutexLock lock(mutex_);
    if (!committing_ && queue_.empty()) return;
    if (committing_) changed_.Wait(mutex_);
  }
}

void Committer::Enqueue(CommitEntry entry) {
  FaultPoint("enqueue.before");
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(entry));
  }
  FaultPoint("enqueue.after");
}

void Committer::Flush() {
  if (commits_wait_) return changed_.SignalAll();
  if (gather_.count() > 0) {
    MutexLock lock(mutex_);
    urgent_ = true;
  }
  CommitQueued();
}

void Committer::FlushSoon() {
  if (commits_wait_ || gather_.count() == 0) return Flush();
  {
    MutexLock lock(mutex_);
    ++recent_;
    if (gathering_) {
      if (queue_.size() < kEnough) return;
    } else if (IsBusy()) {
      gathering_ = true;
      return changed_.SignalAll();
    }
  }
  CommitQueued();
}

bool Committer::IsBusy() {
  const Clock::TimePoint now = Clock::Steady().Now();
  if (now - recent_since_ >= gather_ * kBusyLooks / kLooks) {
    recent_since_ = now;
    recent_ = 1;
  }
  return recent_ >= kBusy;
}

CommitterFigures Committer::Figures() const {
  MutexLock lock(mutex_);
  CommitterFigures figures = figures_;
  figures.failing = failed_.has_value() && clock_.Now() - *failed_ < kFailureIsNews;
  if (committing_) figures.age_seconds = SecondsBetween(began_, clock_.Now());
  return figures;
}

void Committer::Work() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !ending_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
    }
    CommitQueued();
  }
}

void Committer::Gather() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!gathering_ && !ending_) changed_.Wait(mutex_);
      if (ending_) return;
      recent_ = 0;
      AwaitMore();
    }
    CommitQueued();
    MutexLock lock(mutex_);
    // A thread that still commits goes on with what is queued once nothing is gathered.
    if (recent_ < kBusy && (queue_.empty() || committing_)) gathering_ = false;
  }
}

void Committer::AwaitMore() {
  for (int look = 0; look < kLooks && !ending_; ++look) {
    const size_t before = recent_;
    const Clock::TimePoint until = Clock::Steady().Now() + gather_ / kLooks;
    for (Clock::TimePoint now; !ending_ && (now = Clock::Steady().Now()) < until;) {
      changed_.WaitFor(mutex_, until - now);
    }
    if (recent_ == before) return;
  }
}

void Committer::CommitQueued() {
  while (true) {
    std::vector<CommitEntry> entries;
    {
      MutexLock lock(mutex_);
      if (committing_ || queue_.empty()) return;
      committing_ = true;
      began_ = clock_.Now();
      urgent_ = false;
      entries.swap(queue_);
    }
    // The stale ones first, which there rarely are.
    const auto fresh = std::stable_partition(entries.begin(), entries.end(), IsStale);
    for (auto entry = entries.begin(); entry != fresh; ++entry) {
      Finish(*entry, NotStored(absl::AbortedError("an earlier one failed")));
    }
    Commit(std::span(fresh, entries.end()));
    TellListeners(std::move(entries));
    MutexLock lock(mutex_);
    committing_ = false;
    if (ending_) changed_.SignalAll();
    if (gathering_ && !urgent_ && !ending_) return;
  }
}

void Committer::Commit(std::span<CommitEntry> entries) {
  std::vector<StoreWrite> writes;
  for (CommitEntry& entry : entries) {
    std::move(entry.writes.begin(), entry.writes.end(), std::back_inserter(writes));
  }
  const absl::Status status = Store(writes);
  if (status.ok()) {
    for (CommitEntry& entry : entries) Finish(entry, status);
    return;
  }
  // One job's writes must not fail those of others.
  auto from = std::make_move_iterator(writes.begin());
  for (CommitEntry& entry : entries) {
    const auto count = static_cast<std::ptrdiff_t>(entry.writes.size());
    std::copy(from, from + count, entry.writes.begin());
    from += count;
  }
  for (auto rest = entries.begin(); rest != entries.end();) {
    const CommitParticipant* job = rest->participant.get();
    const auto others = std::stable_partition(
        rest, entries.end(),
        [job](const CommitEntry& entry) { return entry.participant.get() == job; });
    const std::span of_job(rest, others);
    const bool wrote = std::ranges::any_of(
        of_job, [](const auto& entry) { return !entry.writes.empty(); });
    // What may stand is not written again: it would be refused because of itself.
    const bool may_stand = wrote && absl::IsUnknown(status);
    Conclude(of_job, may_stand ? status : CommitOneJob(of_job));
    rest = others;
  }
}

absl::Status Committer::CommitOneJob(std::span<CommitEntry> entries) {
  std::vector<StoreWrite> writes;
  for (CommitEntry& entry : entries) {
    std::move(entry.writes.begin(), entry.writes.end(), std::back_inserter(writes));
  }
  return Store(writes);
}

void Committer::Conclude(std::span<CommitEntry> entries, absl::Status status) {
  if (!status.ok()) {
    entries.front().participant->OnCommitFailed(status);
    status = NotStored(status);
  }
  for (CommitEntry& entry : entries) Finish(entry, status);
}

absl::Status Committer::Store(std::span<const StoreWrite> writes) {
  if (writes.empty() || !store_.Keeps()) return absl::OkStatus();
  uint64_t bytes = 0;
  for (const StoreWrite& write : writes) bytes += BytesOf(write);
  absl::Status status = store_.Commit(writes);
  // Those say that another server leads or made a job: no fault of the store's.
  if (absl::IsAborted(status) || absl::IsAlreadyExists(status)) return status;
  Note(status, writes.size(), bytes);
  return status;
}

void Committer::Note(const absl::Status& status, size_t records, uint64_t bytes) {
  FailureNews::Line line = FailureNews::Line::kNone;
  {
    MutexLock lock(mutex_);
    if (status.ok()) {
      ++figures_.commits;
      figures_.records += records;
      figures_.bytes += bytes;
      failed_.reset();
    } else {
      ++figures_.failures;
      failed_ = clock_.Now();
    }
    line = news_.After(status);
  }
  if (line == FailureNews::Line::kFailed) {
    Log(LogLevel::kError, "commit failed",
        {{"because", std::string(status.message())}});
  } else if (line == FailureNews::Line::kSucceedAgain) {
    Log(LogLevel::kInfo, "commits succeed again");
  }
}

}  // namespace evenpack
