// Makes decisions durable: what many jobs decided meanwhile goes to the store in one
// commit.
//
//   Job: decide -> apply -> Enqueue ──> StateStore::Commit ──> OnCommitted, done
#ifndef EVENPACK_SERVER_CONTROL_COMMITTER_H_
#define EVENPACK_SERVER_CONTROL_COMMITTER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/runtime/clock.h"
#include "server/runtime/failure_news.h"
#include "server/runtime/mutex.h"
#include "server/store/state_store.h"

namespace evenpack {

// Told once for all of its entries in a commit, so that it can act on them together.
class CommitListener {
 public:
  virtual ~CommitListener() = default;

  // After `done` of every entry of the commit, from the same thread, under no lock.
  virtual void AfterCommit() = 0;
};

// A job, as the committer knows it.
class CommitParticipant : public CommitListener {
 public:
  // Rises when the job went back to what the store has. What was enqueued under an
  // older incarnation was decided on a state that never came to be, and is dropped.
  virtual uint64_t incarnation() const = 0;
  // The store refused a commit with this job's writes: none of them is stored, or where
  // it is UNKNOWN all of them may be.
  virtual void OnCommitFailed(const absl::Status& status) = 0;
};

// Everything that one request leads to.
struct CommitEntry {
  std::shared_ptr<CommitParticipant> participant;
  uint64_t incarnation = 0;
  // May be empty: then the entry only waits for those before it.
  std::vector<StoreWrite> writes;
  Clock::TimePoint enqueued;
  // Once, from the committing thread, under no lock: OK after the commit; UNAVAILABLE
  // where it failed or was dropped; ALREADY_EXISTS as StateStore::Commit. It may
  // enqueue and flush.
  std::function<void(const absl::Status&)> done;
  // Besides the participant. May be null.
  std::shared_ptr<CommitListener> listener;
};

struct CommitterFigures {
  uint64_t commits = 0;
  uint64_t failures = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  // Since the commit that is under way began, of which there is one at a time; 0: none
  // is. What a commit that failed brings about is part of it.
  double age_seconds = 0;
  // The last one failed, less than kFailureIsNews ago.
  bool failing = false;
};

// Thread-safe. Entries are committed in the order in which they came: by a thread of
// its own where the store's commits wait; else by the thread that flushes, but where so
// many can wait a little that one commit for all of them saves more than it delays.
class Committer {
 public:
  // What servers gather for.
  static constexpr std::chrono::microseconds kGather{1000};
  // So many calls of FlushSoon within three tenths of that make it worth while.
  static constexpr size_t kBusy = 4;
  // How long a failure says something of a store that nobody has asked since.
  static constexpr std::chrono::minutes kFailureIsNews{10};
  // Entries that wait for no more. Fewer than a producer may have under way
  // (server/service/ingest_call.cc), which would have to wait for their answers.
  static constexpr size_t kEnough = 32;

  // The store must outlive it. `gather`: the longest that what can wait is gathered,
  // where the store's commits don't wait; 0: not at all. `clock`, which outlives it,
  // has what Figures tells.
  explicit Committer(StateStore& store, std::chrono::microseconds gather = {},
                     const Clock& clock = Clock::Steady());
  // Stops.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // A job calls it under its lock, so that the order is that of its decisions.
  void Enqueue(CommitEntry entry);
  // After Enqueue, under no lock: sees to it that what was enqueued is committed.
  void Flush();
  // The same, of an entry that nobody waits for: its caller sent it before it knew of
  // the one before.
  void FlushSoon();

  // Returns when what was enqueued before is committed; entries that come later may
  // never be done. May be called again, not at the same time.
  void Stop();

  CommitterFigures Figures() const;

 private:
  void Work();
  // Commits what was gathered, as long as something is.
  void Gather();
  // Counts a call of FlushSoon while nothing is gathered: whether there are many.
  bool IsBusy() EVENPACK_REQUIRES(mutex_);
  // Returns when no more came for a while, or the time for it is over.
  void AwaitMore() EVENPACK_REQUIRES(mutex_);
  // Commits until nothing is queued that isn't gathered, unless another thread does.
  void CommitQueued() EVENPACK_EXCLUDES(mutex_);
  // All of the entries in one commit, or else those of each job in one of their own.
  void Commit(std::span<CommitEntry> entries);
  absl::Status CommitOneJob(std::span<CommitEntry> entries);
  // Tells the job and those who wait what became of it.
  static void Conclude(std::span<CommitEntry> entries, absl::Status status);
  absl::Status Store(std::span<const StoreWrite> writes);
  // Counts a commit that succeeded or failed, and says in the log what is new.
  void Note(const absl::Status& status, size_t records, uint64_t bytes)
      EVENPACK_EXCLUDES(mutex_);

  StateStore& store_;
  const bool commits_wait_;
  const std::chrono::microseconds gather_;
  const Clock& clock_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<CommitEntry> queue_ EVENPACK_GUARDED_BY(mutex_);
  bool committing_ EVENPACK_GUARDED_BY(mutex_) = false;
  // While committing_.
  Clock::TimePoint began_ EVENPACK_GUARDED_BY(mutex_);
  // When the last commit failed; none: it did not.
  std::optional<Clock::TimePoint> failed_ EVENPACK_GUARDED_BY(mutex_);
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool gathering_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Something queued can't wait.
  bool urgent_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Calls of FlushSoon since `recent_since_`, or since something was last gathered.
  size_t recent_ EVENPACK_GUARDED_BY(mutex_) = 0;
  Clock::TimePoint recent_since_ EVENPACK_GUARDED_BY(mutex_);
  CommitterFigures figures_ EVENPACK_GUARDED_BY(mutex_);
  // Two lines in ten seconds.
  FailureNews news_ EVENPACK_GUARDED_BY(mutex_){std::chrono::seconds(10)};

  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_COMMITTER_H_
