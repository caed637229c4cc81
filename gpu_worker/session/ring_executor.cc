#include "gpu_worker/session/ring_executor.h"

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/pass_memory.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

// What the trainer is told. Nothing is cancelled but by the session's end, behind which
// it has no worker.
absl::Status Told(const absl::Status& status) {
  if (!absl::IsCancelled(status)) return status;
  return absl::UnavailableError(
      absl::StrCat("the worker has ended the session: ", status.message()));
}

}  // namespace

absl::Status RingExecutor::Run() {
  for (;;) {
    const absl::StatusOr<Submission> submission = reader_.Next();
    absl::Status status = submission.status();
    if (status.ok()) {
      completions_.Add(Told(Execute(*submission)));
      status = final_;
    }
    if (status.ok()) continue;
    // Its peers may be in a step that it will not end.
    executor_.Abandon(status);
    completions_.Finish();
    reader_.End(Told(status));
    return status;
  }
}

RingProgress RingExecutor::progress() const {
  MutexLock lock(mutex_);
  RingProgress progress = progress_;
  progress.submissions = reader_.completed();
  return progress;
}

void RingExecutor::Note(bool ended) {
  MutexLock lock(mutex_);
  progress_.step = step_->step;
  progress_.ended = ended;
  progress_.epoch = executor_.epoch();
}

absl::Status RingExecutor::Execute(const Submission& submission) {
  switch (submission.kind) {
    case SubmissionKind::kBeginStep:
      return BeginStep(submission.step);
    case SubmissionKind::kForward:
    case SubmissionKind::kBackward:
      return RunPass(submission);
    case SubmissionKind::kEndStep:
      return EndStep(submission.step);
  }
  return InvalidField("kind", static_cast<uint32_t>(submission.kind), "1 to 4");
}

absl::Status RingExecutor::Take(uint64_t step) {
  if (step_.has_value() && (!executed_ || step != step_->step + 1)) {
    const uint64_t accepted = step_->step + (executed_ ? 1 : 0);
    return InvalidField(
        "step", step,
        absl::StrCat(accepted, executed_ ? ", the next one" : ", which is not ended"));
  }
  absl::StatusOr<std::optional<ExecutableStep>> next = next_step_();
  if (!next.ok()) {
    // ABORTED would have the trainer begin the step again.
    const bool again = absl::IsAborted(next.status());
    final_ =
        again ? absl::FailedPreconditionError(next.status().message()) : next.status();
    return final_;
  }
  if (!next->has_value()) {
    return absl::OutOfRangeError(
        absl::StrCat("step: ", step,
                     " is not accepted; accepted: none, the job is "
                     "drained"));
  }
  const bool expected = (*next)->step == step;
  step_ = *std::move(next);
  executed_ = false;
  if (expected) return absl::OkStatus();
  return InvalidField("step", step,
                      absl::StrCat(step_->step, ", the first of the session"));
}

absl::Status RingExecutor::BeginStep(uint64_t step) {
  if (!IsWithin(step)) {
    if (absl::Status status = Take(step); !status.ok()) return status;
  }
  absl::Status status = executor_.BeginStep(step);
  Note(false);
  return status;
}

absl::Status RingExecutor::CheckWithin(uint64_t step) const {
  if (IsWithin(step)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("step ", step, " has not begun; accepted: after its BeginStep"));
}

absl::Status RingExecutor::EndStep(uint64_t step) {
  absl::Status status = CheckWithin(step);
  if (!status.ok()) return status;
  status = executor_.EndStep();
  executed_ = status.ok();
  Note(executed_);
  return status;
}

absl::StatusOr<const PreparedMicroBatch*> RingExecutor::MicroBatchOf(
    const Submission& submission) const {
  if (absl::Status status = CheckWithin(submission.step); !status.ok()) return status;
  const uint64_t first = step_->first_micro_batch;
  const uint64_t count = step_->micro_batches.size();
  if (submission.micro_batch < first || submission.micro_batch - first >= count) {
    const std::string own =
        count == 0 ? "none" : absl::StrCat(first, " to ", first + count - 1);
    return InvalidField("micro_batch", submission.micro_batch,
                        absl::StrCat(own, " of step ", submission.step));
  }
  const PreparedMicroBatch& found =
      step_->micro_batches[submission.micro_batch - first];
  if (submission.plan == Digest128() || submission.plan == found.plan) return &found;
  return InvalidField(
      "plan", ToHex(submission.plan),
      absl::StrCat(ToHex(found.plan), ", that of micro-batch ", submission.micro_batch,
                   " of step ", submission.step));
}

absl::Status RingExecutor::CheckMemory(const PreparedMicroBatch& prepared,
                                       SubmissionKind kind) const {
  const PassMemory memory =
      MemoryOf(prepared, options_.executor.HeadGroupsOf(prepared));
  const uint64_t needed =
      kind == SubmissionKind::kForward ? memory.forward : memory.backward;
  if (needed <= options_.scratch_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("memory: a pass over ", prepared.held_rows, " rows needs ", needed,
                   " bytes beside the arena; accepted: up to ", options_.scratch_bytes,
                   " (--memory less the arena)"));
}

absl::StatusOr<RingExecutor::Pass> RingExecutor::Check(
    const Submission& submission) const {
  const absl::StatusOr<const PreparedMicroBatch*> prepared = MicroBatchOf(submission);
  if (!prepared.ok()) return prepared.status();
  const absl::StatusOr<PassTensors> tensors = TensorsOf(submission, arena_, **prepared);
  if (!tensors.ok()) return tensors.status();
  absl::Status status = CheckMemory(**prepared, submission.kind);
  if (!status.ok()) return status;
  return Pass{*prepared, *tensors};
}

absl::Status RingExecutor::RunPass(const Submission& submission) {
  const absl::StatusOr<Pass> pass = Check(submission);
  if (!pass.ok()) {
    executor_.Abandon(pass.status());
    return pass.status();
  }
  const PassTensors& tensors = pass->tensors;
  if (submission.kind == SubmissionKind::kForward) {
    return executor_.Forward(*pass->prepared, tensors.input, tensors.output);
  }
  return executor_.Backward(*pass->prepared, tensors.input, tensors.output,
                            tensors.output_gradient, tensors.gradients);
}

}  // namespace evenpack::worker
