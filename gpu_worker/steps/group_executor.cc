#include "gpu_worker/steps/group_executor.h"

#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

// Of an exchange with peers, rather than of this rank's own engine.
bool IsOfThePeers(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status);
}

// In seconds, to a tenth of one.
std::string Tenths(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return ShortestText(std::round(seconds * 10) / 10);
}

void Add(const PassTimes& times, bool is_forward, MicroBatchTimes& to) {
  ++(is_forward ? to.forward_passes : to.backward_passes);
  (is_forward ? to.forward_ns : to.backward_ns) += times.computed_ns;
  to.waited_ns += times.waited_ns;
}

}  // namespace

GroupExecutor::GroupExecutor(GroupRendezvous& group, AttentionEngine& engine,
                             const ExecutorOptions& options, StepListener executed)
    : rendezvous_(group),
      engine_(engine),
      options_(options),
      executed_(std::move(executed)) {}

absl::Status GroupExecutor::AwaitGroup(std::chrono::nanoseconds patience) {
  absl::StatusOr<GroupEpoch> group = rendezvous_.Await(group_.epoch, patience);
  // ABORTED would have the trainer begin again, for ever.
  if (absl::IsAborted(group.status())) {
    return absl::FailedPreconditionError(group.status().message());
  }
  if (!group.ok()) return group.status();
  executor_.reset();
  exchanges_.reset();
  group_ = *std::move(group);
  exchanges_.emplace(*group_.communicator);
  executor_.emplace(*exchanges_, engine_, options_);
  return absl::OkStatus();
}

absl::StatusOr<StepVerdict> GroupExecutor::ExchangeAndJudge() {
  const absl::StatusOr<std::vector<StepProgress>> ranks =
      ExchangeProgress(*group_.communicator, options_.Where(), progress_);
  if (!ranks.ok()) return ranks.status();
  return JudgeProgress(group_.communicator->rank(), *ranks);
}

absl::StatusOr<StepVerdict> GroupExecutor::LeaveTogether() {
  StepProgress mine = progress_;
  mine.exchanged = exchanges_->exchanged();
  const absl::StatusOr<std::vector<StepProgress>> ranks =
      ExchangeProgress(*exchanges_, options_.Where(), mine);
  if (!ranks.ok()) return ranks.status();
  if (absl::Status status = CheckTogether(exchanges_->rank(), *ranks); !status.ok()) {
    return status;
  }
  return StepVerdict::kLeave;
}

absl::StatusOr<StepVerdict> GroupExecutor::Agree() {
  if (apart_) rendezvous_.Lose(group_.epoch, absl::AbortedError("it begins anew"));
  apart_ = false;
  // Peers that hang are connected again and again, by threads that don't. What they
  // have no part in is no progress, however often the group forms.
  const std::chrono::nanoseconds patience = rendezvous_.patience();
  const Clock::TimePoint start = options_.clock->Now();
  for (std::chrono::nanoseconds waited{0};;) {
    absl::Status group = AwaitGroup(patience - waited);
    // Before the first exchange it says all there is to say.
    if (absl::IsDeadlineExceeded(group) && waited.count() > 0) {
      return Stalled(options_.clock->Now() - start, group);
    }
    if (!group.ok()) return group;
    absl::StatusOr<StepVerdict> verdict = ExchangeAndJudge();
    agreed_ = verdict.ok();
    // Peers that have not heard of this rank's progress must, to say why they fail.
    apart_ = !agreed_ && !IsOfThePeers(verdict.status());
    if (agreed_ || apart_) return verdict;
    rendezvous_.Lose(group_.epoch, verdict.status());
    waited = options_.clock->Now() - start;
    if (waited >= patience) return Stalled(waited, verdict.status());
  }
}

absl::Status GroupExecutor::Stalled(std::chrono::nanoseconds waited,
                                    const absl::Status& last) const {
  return absl::DeadlineExceededError(absl::StrCat(
      "step ", progress_.step, ": not all ranks of the group took part in it within ",
      Tenths(waited), " s, with a patience of ", Tenths(rendezvous_.patience()),
      " s; last: ", last.message()));
}

absl::Status GroupExecutor::Lost(const absl::Status& why) {
  agreed_ = false;
  within_step_ = false;
  rendezvous_.Lose(group_.epoch, why);
  return absl::AbortedError(
      absl::StrCat("step ", progress_.step,
                   " is to be done again, from its beginning: ", why.message()));
}

absl::Status GroupExecutor::BeginStep(uint64_t step) {
  rendezvous_.SetIdle(false);
  if (!next_step_.has_value()) next_step_ = step;
  progress_ = {step, false, step != *next_step_};
  within_step_ = false;
  times_.clear();
  passes_.clear();
  absl::Status status = rendezvous_.CheckNotCancelled();
  if (status.ok() && !agreed_) status = Agree().status();
  if (!status.ok()) return status;
  exchanges_->SetStep(step);
  within_step_ = true;
  return absl::OkStatus();
}

absl::Status GroupExecutor::CheckWithinStep() const {
  if (within_step_) return rendezvous_.CheckNotCancelled();
  return absl::FailedPreconditionError("no step has begun; accepted: after BeginStep");
}

absl::Status GroupExecutor::ToTrainer(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::Status redo = Lost(status);
  return IsOfThePeers(status) ? redo : status;
}

absl::Status GroupExecutor::Forward(const PreparedMicroBatch& prepared,
                                    const AttentionInput& input,
                                    const AttentionOutput& result) {
  if (absl::Status status = CheckWithinStep(); !status.ok()) return status;
  const absl::Status status = executor_->Forward(prepared, input, result);
  TakeTimes(prepared.index, true);
  return ToTrainer(status);
}

absl::Status GroupExecutor::Backward(const PreparedMicroBatch& prepared,
                                     const AttentionInput& input,
                                     const AttentionOutput& forward,
                                     const void* output_gradient,
                                     const AttentionGradients& result) {
  if (absl::Status status = CheckWithinStep(); !status.ok()) return status;
  const absl::Status status =
      executor_->Backward(prepared, input, forward, output_gradient, result);
  TakeTimes(prepared.index, false);
  return ToTrainer(status);
}

void GroupExecutor::TakeTimes(uint32_t micro_batch, bool is_forward) {
  std::unique_ptr<PassTimer> timer = executor_->TakeTimer();
  if (timer->knows_at_end()) {
    Add(timer->Times(), is_forward, times_[micro_batch]);
  } else {
    passes_.push_back({micro_batch, is_forward, std::move(timer)});
  }
}

StepTimes GroupExecutor::Times() const {
  StepTimes step = times_;
  for (const TimedPass& pass : passes_) {
    Add(pass.timer->Times(), pass.is_forward, step[pass.micro_batch]);
  }
  return step;
}

void GroupExecutor::Abandon(const absl::Status& why) {
  if (within_step_) Lost(absl::AbortedError(why.message())).IgnoreError();
}

absl::Status GroupExecutor::EndStep() {
  if (absl::Status status = CheckWithinStep(); !status.ok()) return status;
  // Peers are told that it is executed, and may then leave it.
  if (absl::Status status = group_.communicator->Settle(); !status.ok()) {
    return ToTrainer(status);
  }
  within_step_ = false;
  progress_.executed = true;
  absl::StatusOr<StepVerdict> verdict = LeaveTogether();
  if (!verdict.ok() && IsOfThePeers(verdict.status())) {
    Lost(verdict.status()).IgnoreError();
    verdict = Agree();
  } else if (!verdict.ok()) {
    agreed_ = false;
    apart_ = true;
  }
  if (!verdict.ok()) return verdict.status();
  rendezvous_.SetIdle(true);
  if (*verdict == StepVerdict::kLeave) {
    next_step_ = progress_.step + 1;
    if (executed_) executed_(progress_.step, Times());
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat("step ", progress_.step,
                                         " is to be done again, from its beginning: a "
                                         "peer has not executed it"));
}

}  // namespace evenpack::worker
