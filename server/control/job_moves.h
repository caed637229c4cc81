// Moves jobs of a shared store between this server and others, as the store tells.
//
//   taken: what was enqueued before is committed or refused -> read -> in the registry
//   lost:  abandoned at once -> out of the registry -> its calls end
//   cut off: those who wait for what others may decide by now end, to look there
//   given: paused, who asks for it waits -> what was decided is committed ->
//          SharedStore::HandOver -> as lost; where that fails, it goes on
#ifndef EVENPACK_SERVER_CONTROL_JOB_MOVES_H_
#define EVENPACK_SERVER_CONTROL_JOB_MOVES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/control/committer.h"
#include "server/control/directory.h"
#include "server/control/job_registry.h"
#include "server/runtime/mutex.h"
#include "server/runtime/worker_pool.h"
#include "server/store/shared_store.h"

namespace evenpack {

// Since the server started.
struct MoveFigures {
  // Read and led here.
  uint64_t taken = 0;
  uint64_t handed_over = 0;
  // Another server led them before this one gave them.
  uint64_t lost = 0;
};

// Thread-safe. A job's moves come one after another, in the order in which they were
// told; those of different jobs side by side on threads of its own, so that neither the
// store nor calls wait for them.
class JobMoves final : public LeadListener {
 public:
  // All outlive it. `lost_all`: as OnLostAll; may be null.
  JobMoves(SharedStore& store, Committer& committer, JobRegistry& jobs,
           Directory& directory, std::function<void()> lost_all);
  // Stops.
  ~JobMoves() override;
  JobMoves(const JobMoves&) = delete;
  JobMoves& operator=(const JobMoves&) = delete;

  void OnTaken(const std::string& job) override;
  void OnLost(const std::string& job) override;
  void OnAskedToGive(const std::string& job) override;
  void OnCutOff() override;
  void OnProfilesChanged() override;
  void OnLostAll(const absl::Status& why) override;

  // The store says that this server leads it: where it isn't here, it is read.
  void Find(const std::string& job);
  // Gives all jobs to other servers, where there are any. Returns as Await.
  void GiveAll(std::chrono::nanoseconds most);
  // Returns when no move is under way or queued, or after that time.
  void Await(std::chrono::nanoseconds most);
  // Begins no more; returns when none is under way. While the committer still commits.
  // May be called again.
  void Stop();

  MoveFigures Figures() const { return {taken_, handed_over_, lost_}; }

 private:
  using Move = std::function<void()>;

  void Queue(const std::string& job, Move move);
  // Runs the job's moves until there are none.
  void Run(const std::string& job);
  Move First(const std::string& job);
  // Once the one before is done. That is taken away, and the queue with its last one,
  // under one lock: a move that found it empty in between would be run by two.
  Move Next(const std::string& job);
  // Null: there is none to run, and the queue is gone.
  Move Front(const std::string& job) EVENPACK_REQUIRES(mutex_);
  void Take(const std::string& job);
  void Lose(const std::string& job);
  void Give(const std::string& job);
  // Pauses it; returns when what it has decided is committed, or never will be.
  static void Settle(Job& job);
  // The job is no more here; `job` is abandoned.
  void Leave(const std::shared_ptr<Job>& job);
  // Returns when what was enqueued before is committed or refused.
  void AwaitCommits();

  SharedStore& store_;
  Committer& committer_;
  JobRegistry& jobs_;
  Directory& directory_;
  const std::function<void()> lost_all_;
  std::atomic<uint64_t> taken_ = 0;
  std::atomic<uint64_t> handed_over_ = 0;
  std::atomic<uint64_t> lost_ = 0;

  Mutex mutex_;
  CondVar changed_;
  bool stopped_ EVENPACK_GUARDED_BY(mutex_) = false;
  // Of each job that moves, what is to be done; that under way is the first.
  std::map<std::string, std::deque<Move>> queues_ EVENPACK_GUARDED_BY(mutex_);

  WorkerPool pool_;  // last, since its threads use the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_MOVES_H_
