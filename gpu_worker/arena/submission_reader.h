// The worker's end of the ring.
#ifndef EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_
#define EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"

namespace evenpack::worker {

// Believes nothing that the trainer's process can write: what it returns is a copy, and
// what it counts is its own. One thread takes submissions, and one, which may be
// another, completes them; Cancel() from any.
class SubmissionReader {
 public:
  // `arena` must outlive it.
  explicit SubmissionReader(const Arena& arena) : arena_(arena) {}

  // Blocks until there is one and its inputs are ready. CANCELLED after Cancel().
  // INVALID_ARGUMENT: the ring holds more than it can.
  absl::StatusOr<Submission> Next();
  // Of the first that Next() has returned and that is not completed. What was written
  // before, also by others, is seen by the trainer.
  void Complete(const absl::Status& status);
  // No more are taken or completed; the trainer is told why.
  void End(const absl::Status& why);

  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  void Cancel();

 private:
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  absl::Status Await(Timeline& timeline, uint64_t value) const;

  const Arena& arena_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint64_t> completed_ = 0;
  uint64_t taken_ = 0;
  // By number, modulo the slots. Whoever completes one has learnt of it from who has
  // taken it.
  std::array<int64_t, kRingSlots> started_ns_ = {};
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_SUBMISSION_READER_H_
