// The worker's end of the ring.
#ifndef EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_
#define EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"

namespace evenpack::worker {

// Believes nothing that the trainer's process can write: what it returns is a copy, and
// what it counts is its own. One thread; Cancel() from any.
class SubmissionReader {
 public:
  // `arena` must outlive it.
  explicit SubmissionReader(const Arena& arena) : arena_(arena) {}

  // Blocks until there is one and its inputs are ready. CANCELLED after Cancel().
  // INVALID_ARGUMENT: the ring holds more than it can.
  absl::StatusOr<Submission> Next();
  // Of what Next() returned last.
  void Complete(const absl::Status& status);
  // No more are taken; the trainer is told why.
  void End(const absl::Status& why);

  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  void Cancel();

 private:
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  absl::Status Await(Timeline& timeline, uint64_t value) const;

  const Arena& arena_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint64_t> completed_ = 0;
  int64_t started_ns_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_
