// The trainer's end of the ring.
#ifndef EVENPACK_GPU_WORKER_ARENA_SUBMISSION_WRITER_H_
#define EVENPACK_GPU_WORKER_ARENA_SUBMISSION_WRITER_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"

namespace evenpack::worker {

// One thread at a time; SignalReady may be called beside the others.
class SubmissionWriter {
 public:
  // `is_gone`: whether the worker's process is. `arena` must outlive it.
  SubmissionWriter(const Arena& arena, std::function<bool()> is_gone)
      : arena_(arena), is_gone_(std::move(is_gone)) {}

  // Returns at once with the submission's number, from 1; but waits while kRingSlots of
  // them are under way. Errors as Wait has them, other than a submission's own.
  absl::StatusOr<uint64_t> Submit(const Submission& submission);

  // The trainer's timeline: `value` and below are ready. It only grows.
  void SignalReady(uint64_t value) { Advance(arena_.header().ready, value); }

  // Blocks until the submission, and those before it, are done: the first error among
  // them that wasn't told yet. UNAVAILABLE: the worker is gone. Where it takes no more
  // submissions: why.
  absl::Status Wait(uint64_t number);

  // INVALID_ARGUMENT: no submission was made with that number.
  absl::Status CheckSubmitted(uint64_t number) const;
  uint64_t submitted() const { return submitted_; }
  // When a submission that is done was begun and finished, until kRingSlots further
  // ones were made. CLOCK_MONOTONIC.
  std::pair<int64_t, int64_t> TimesNs(uint64_t number) const {
    const SubmissionResult& result = arena_.slot(number).result;
    return {result.started_ns, result.finished_ns};
  }

 private:
  // The results up to `number`.
  absl::Status Collect(uint64_t number);

  const Arena& arena_;
  const std::function<bool()> is_gone_;
  uint64_t submitted_ = 0;
  uint64_t collected_ = 0;
  absl::Status untold_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_SUBMISSION_WRITER_H_
