// Executes steps in a group that forms anew when a rank is lost.
//
//   GroupExecutor executor(rendezvous, engine, {});
//   for (uint64_t step = first;; ++step) {
//     do {
//       status = executor.BeginStep(step);
//       ... Forward and Backward of each micro-batch and layer ...
//       if (status.ok()) status = executor.EndStep();
//     } while (absl::IsAborted(status));      // once more, from its beginning
//     if (!status.ok()) return status;
//     ... the optimizer's step ...
//   }
#ifndef EVENPACK_GPU_WORKER_STEPS_GROUP_EXECUTOR_H_
#define EVENPACK_GPU_WORKER_STEPS_GROUP_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "gpu_worker/steps/step_agreement.h"
#include "gpu_worker/steps/step_exchanges.h"
#include "gpu_worker/steps/step_times.h"

namespace evenpack::worker {

// One rank. Not thread-safe. All ranks execute the same steps, and in them the same
// calls in the same order.
//
// Calls return ABORTED where a peer was lost, was restarted, or did not take part in
// time: the step is to be done again, from BeginStep on, by all ranks, and what it has
// computed so far is to be dropped. FAILED_PRECONDITION: a peer is at another step,
// another process has taken this rank, or the calls come in another order, or differ
// from those of a peer. DEADLINE_EXCEEDED: for as long as the group's patience peers
// did not come or, though connected, took part in no exchange; one may begin the step
// again, and has the patience anew. It is looked at between exchanges, each of which
// has its own time-out. Other errors are the engine's own, after which the peers have
// ABORTED, or those of GroupRendezvous::Await: the membership's end. CANCELLED, or
// first ABORTED: the rendezvous was cancelled.
class GroupExecutor {
 public:
  // Group and engine must outlive it. `executed` is told of each step, from EndStep,
  // once no rank will do it again: of the attempt that counted. It may be null.
  GroupExecutor(GroupRendezvous& group, AttentionEngine& engine,
                const ExecutorOptions& options, StepListener executed = nullptr);

  // Blocks until all ranks are connected. In a group that has formed anew, until all
  // are at this step; else that shows where they exchange rows, and at its end.
  absl::Status BeginStep(uint64_t step);
  // As Executor has them, within a step. `prepared` is for a rank of this group.
  absl::Status Forward(const PreparedMicroBatch& prepared, const AttentionInput& input,
                       const AttentionOutput& result);
  absl::Status Backward(const PreparedMicroBatch& prepared, const AttentionInput& input,
                        const AttentionOutput& forward, const void* output_gradient,
                        const AttentionGradients& result);
  // Blocks until all ranks have executed the step. After that it is not done again:
  // only then may weights change.
  absl::Status EndStep();
  // This rank can't do its part of the step, which nobody can end then: its peers have
  // ABORTED, rather than wait for it.
  void Abandon(const absl::Status& why);

  // The epoch of the group in which it computes; 0 before the first.
  uint64_t epoch() const { return group_.epoch; }

 private:
  // Until the group stands and has agreed on what its ranks do, or the patience is
  // over.
  absl::StatusOr<StepVerdict> Agree();
  // Of a group that has just formed. An error of the exchange, or as JudgeProgress.
  absl::StatusOr<StepVerdict> ExchangeAndJudge();
  // That all ranks have executed the step. Errors of the exchange, or of CheckTogether.
  absl::StatusOr<StepVerdict> LeaveTogether();
  absl::Status AwaitGroup(std::chrono::nanoseconds patience);
  // `last`: why the group has not agreed.
  absl::Status Stalled(std::chrono::nanoseconds waited, const absl::Status& last) const;
  // The epoch can't be used any more.
  absl::Status Lost(const absl::Status& why);
  absl::Status CheckWithinStep() const;
  // Takes the times of the last pass.
  void TakeTimes(uint32_t micro_batch, bool is_forward);
  // What the attempt took.
  StepTimes Times() const;
  // Of a pass: what the trainer is to be told.
  absl::Status ToTrainer(const absl::Status& status);

  GroupRendezvous& rendezvous_;
  AttentionEngine& engine_;
  const ExecutorOptions options_;
  const StepListener executed_;

  GroupEpoch group_;
  // Of the group, and what it is used by.
  std::optional<StepExchanges> exchanges_;
  std::optional<Executor> executor_;
  // The ranks agreed in this epoch, and it is not lost.
  bool agreed_ = false;
  // They found in it that they can't go on together: it is lost with the next step.
  bool apart_ = false;
  StepProgress progress_;
  // The step that follows what this rank has executed, or the one that it began first.
  std::optional<uint64_t> next_step_;
  bool within_step_ = false;
  // Of the step's attempt, and pass after pass those that a device knows at its end.
  // Others are added at once: kept, each would stand between what passes allocate.
  StepTimes times_;
  struct TimedPass {
    uint32_t micro_batch = 0;
    bool is_forward = false;
    std::unique_ptr<PassTimer> timer;
  };
  std::vector<TimedPass> passes_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_STEPS_GROUP_EXECUTOR_H_
