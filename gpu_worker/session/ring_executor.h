// Executes what a trainer submits, one submission after another.
#ifndef EVENPACK_GPU_WORKER_SESSION_RING_EXECUTOR_H_
#define EVENPACK_GPU_WORKER_SESSION_RING_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/session/completions.h"
#include "gpu_worker/session/pass_tensors.h"
#include "gpu_worker/steps/group_executor.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

struct ExecutableStep {
  uint64_t step = 0;
  // Index within the step of the first of the rank's micro-batches; others follow.
  uint64_t first_micro_batch = 0;
  std::vector<PreparedMicroBatch> micro_batches;
};

// As RankWorker::NextStep.
using NextStep = std::function<absl::StatusOr<std::optional<ExecutableStep>>()>;

struct RingExecutorOptions {
  // Those of `executor`.
  ExecutorOptions executor = {};
  // Of MemoryOf a pass.
  uint64_t scratch_bytes = 0;
};

struct RingProgress {
  uint64_t submissions = 0;
  // Begun last, and whether it was ended; none before the first.
  std::optional<uint64_t> step;
  bool ended = false;
  // Of the group.
  uint64_t epoch = 0;
};

// A step is begun once the worker has it, in their order; a step that is to be done
// again is begun anew. Its passes name it, and its micro-batches by their index within
// the step.
//
// A submission is complete once the device has done it; the next is executed before.
//
// Results are those of GroupExecutor: after ABORTED the rest of the step's submissions
// have FAILED_PRECONDITION, and it is to be begun anew. OUT_OF_RANGE: the job is
// drained and has no such step. INVALID_ARGUMENT: a step that isn't next, a micro-batch
// that isn't the rank's or has another plan there, tensors that are refused.
// RESOURCE_EXHAUSTED: a pass needs more memory than there is. An error of NextStep ends
// the executor. On a device a pass may be OK and its step lost, which the step's end
// tells, and INTERNAL is also what the device failed with after it had been given the
// pass.
class RingExecutor {
 public:
  // All must outlive it.
  RingExecutor(const Arena& arena, SubmissionReader& reader, Completions& completions,
               GroupExecutor& executor, NextStep next_step,
               const RingExecutorOptions& options)
      : arena_(arena),
        reader_(reader),
        completions_(completions),
        executor_(executor),
        next_step_(std::move(next_step)),
        options_(options) {}

  // Until the reader is cancelled (CANCELLED, and UNAVAILABLE for the trainer), or an
  // error, which the trainer is told.
  absl::Status Run();

  // From any thread.
  RingProgress progress() const;

 private:
  absl::Status Execute(const Submission& submission);
  absl::Status BeginStep(uint64_t step);
  absl::Status EndStep(uint64_t step);
  absl::Status RunPass(const Submission& submission);
  // What the pass is of, and on what; its peers don't wait for one that is refused.
  struct Pass {
    const PreparedMicroBatch* prepared = nullptr;
    PassTensors tensors;
  };
  absl::StatusOr<Pass> Check(const Submission& submission) const;
  absl::StatusOr<const PreparedMicroBatch*> MicroBatchOf(
      const Submission& submission) const;
  absl::Status CheckMemory(const PreparedMicroBatch& prepared,
                           SubmissionKind kind) const;
  // Whether it has begun and was not ended.
  bool IsWithin(uint64_t step) const {
    return step_.has_value() && !executed_ && step == step_->step;
  }
  absl::Status CheckWithin(uint64_t step) const;
  // Takes the next step, if `step` can be that one.
  absl::Status Take(uint64_t step);
  void Note(bool ended);

  const Arena& arena_;
  SubmissionReader& reader_;
  Completions& completions_;
  GroupExecutor& executor_;
  const NextStep next_step_;
  const RingExecutorOptions options_;

  // Of the step that is being executed, or was executed last.
  std::optional<ExecutableStep> step_;
  bool executed_ = false;
  // Why no further step can be had.
  absl::Status final_;

  mutable Mutex mutex_;
  RingProgress progress_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SESSION_RING_EXECUTOR_H_
