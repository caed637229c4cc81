#include "gpu_worker/c_api/checked_rank.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/rank_worker/computed_on.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
CheckedRank::CheckedRank(client::Client client, std::unique_ptr<RankForm> form,
                         uint32_t cp_rank)
    : client_(std::move(client)), form_(std::move(form)), cp_rank_(cp_rank) {}

absl::StatusOr<std::unique_ptr<CheckedRank>> CheckedRank::Open(
    client::Client client, const RankWorkerOptions& options,
    std::unique_ptr<RankForm> form) {
  absl::StatusOr<RankWorkerOptions> of = ComputedOn(*form, options);
  if (!of.ok()) return of.status();
  std::unique_ptr<CheckedRank> rank(new CheckedRank(std::move(client), std::move(form),
                                                    options.steps.cp_rank.value_or(0)));
  absl::StatusOr<std::unique_ptr<RankWorker>> worker =
      RankWorker::Start(rank->client_, *of, rank->form_->engine());
  if (!worker.ok()) return worker.status();
  rank->worker_ = *std::move(worker);
  return rank;
}

absl::Status CheckedRank::CheckNotClosed() const {
  if (!closed_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the worker was closed; accepted: to destroy it");
}

absl::Status CheckedRank::CheckNotEnded() const {
  absl::Status status = CheckNotClosed();
  if (status.ok() && cancelled_) {
    status = absl::CancelledError("the worker was cancelled");
  }
  return status;
}

absl::StatusOr<const PreparedStep*> CheckedRank::NextStep() {
  if (absl::Status status = CheckNotEnded(); !status.ok()) return status;
  if (phase_ == Phase::kBegun) {
    return absl::FailedPreconditionError(
        absl::StrCat("step ", step_->step.index(),
                     " has begun; accepted: after end_step or abandon"));
  }
  absl::StatusOr<std::optional<PreparedStep>> next = worker_->NextStep();
  if (!next.ok()) return next.status();
  step_ = *std::move(next);
  phase_ = step_.has_value() ? Phase::kTaken : Phase::kNone;
  return step_.has_value() ? &*step_ : nullptr;
}

absl::Status CheckedRank::CheckMicroBatch(uint32_t micro_batch) const {
  if (!step_.has_value()) {
    return absl::FailedPreconditionError(
        "there is no step; accepted: after next_step has given one");
  }
  const size_t count = step_->micro_batches.size();
  if (micro_batch < count) return absl::OkStatus();
  return InvalidField("micro_batch", micro_batch,
                      count == 0 ? "none: the step has no micro-batch of this rank"
                                 : absl::StrCat("0 to ", count - 1));
}

absl::StatusOr<const client::MicroBatchView*> CheckedRank::MicroBatch(
    uint32_t micro_batch) const {
  absl::Status status = CheckNotClosed();
  if (status.ok()) status = CheckMicroBatch(micro_batch);
  if (!status.ok()) return status;
  return &step_->step.micro_batches()[micro_batch];
}

absl::Status CheckedRank::CheckBegun(absl::string_view call) const {
  if (phase_ == Phase::kBegun) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, ": no step has begun; accepted: after begin_step"));
}

absl::Status CheckedRank::Judge(absl::Status status) {
  if (!status.ok()) phase_ = Phase::kTaken;
  return status;
}

absl::Status CheckedRank::BeginStep() {
  absl::Status status = CheckNotEnded();
  if (!status.ok()) return status;
  switch (phase_) {
    case Phase::kNone:
      return absl::FailedPreconditionError(
          "there is no step; accepted: after next_step has given one");
    case Phase::kBegun:
    case Phase::kEnded:
      return absl::FailedPreconditionError(
          absl::StrCat("step ", step_->step.index(),
                       phase_ == Phase::kBegun ? " has begun" : " has ended",
                       "; accepted: the step that next_step gives"));
    case Phase::kTaken:
      break;
  }
  status = worker_->executor().BeginStep(step_->step.index());
  if (status.ok()) phase_ = Phase::kBegun;
  return status;
}

absl::Status CheckedRank::CheckTensor(const NamedTensor& tensor,
                                      const PreparedMicroBatch& prepared) const {
  if (prepared.held_rows == 0) return absl::OkStatus();
  if (tensor.data == nullptr) {
    return InvalidField(tensor.name, "NULL",
                        absl::StrCat("a tensor of ", prepared.held_rows, " rows"));
  }
  size_t alignment = tensor.alignment;
  if (alignment == 0) {
    alignment =
        form_->workplace() == nullptr ? BytesOf(prepared.shape.type) : kDeviceAlignment;
  }
  const auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % alignment == 0) return absl::OkStatus();
  return InvalidField(tensor.name, absl::StrCat("0x", absl::Hex(address)),
                      absl::StrCat("an address that is a multiple of ", alignment));
}

template <typename Run>
absl::Status CheckedRank::RunPass(absl::string_view call, uint32_t micro_batch,
                                  std::initializer_list<NamedTensor> tensors,
                                  void* stream, Run run) {
  absl::Status status = CheckNotEnded();
  if (status.ok()) status = CheckBegun(call);
  if (status.ok()) status = CheckMicroBatch(micro_batch);
  if (!status.ok()) return status;
  const PreparedMicroBatch& prepared = step_->micro_batches[micro_batch];
  for (const NamedTensor& each : tensors) {
    status = CheckTensor(each, prepared);
    if (!status.ok()) return status;
  }
  auto* const of = static_cast<cuda::Stream>(stream);
  absl::Status order = form_->After(of);
  // Nothing was done, as after other calls that are refused.
  if (absl::IsFailedPrecondition(order)) return order;
  if (order.ok()) {
    status = run(prepared);
    // Also where it failed: the tensors' memory is the trainer's again.
    order = form_->Before(of);
    if (!status.ok()) return Judge(std::move(status));
  }
  if (!order.ok()) worker_->executor().Abandon(order);
  return Judge(std::move(order));
}

absl::Status CheckedRank::Forward(uint32_t micro_batch, const PassTensors& tensors,
                                  void* stream) {
  return RunPass("forward", micro_batch,
                 {{"query", tensors.input.query},
                  {"key", tensors.input.key},
                  {"value", tensors.input.value},
                  {"output", tensors.output.output},
                  {"log_sum_exp", tensors.output.log_sum_exp, sizeof(float)}},
                 stream, [&](const PreparedMicroBatch& prepared) {
                   return worker_->executor().Forward(prepared, tensors.input,
                                                      tensors.output);
                 });
}

absl::Status CheckedRank::Backward(uint32_t micro_batch, const PassTensors& tensors,
                                   void* stream) {
  return RunPass("backward", micro_batch,
                 {{"query", tensors.input.query},
                  {"key", tensors.input.key},
                  {"value", tensors.input.value},
                  {"output", tensors.output.output},
                  {"log_sum_exp", tensors.output.log_sum_exp, sizeof(float)},
                  {"output_gradient", tensors.output_gradient},
                  {"query_gradient", tensors.gradients.query},
                  {"key_gradient", tensors.gradients.key},
                  {"value_gradient", tensors.gradients.value}},
                 stream, [&](const PreparedMicroBatch& prepared) {
                   return worker_->executor().Backward(
                       prepared, tensors.input, tensors.output, tensors.output_gradient,
                       tensors.gradients);
                 });
}

absl::Status CheckedRank::EndStep() {
  absl::Status status = CheckNotEnded();
  if (status.ok()) status = CheckBegun("end_step");
  if (!status.ok()) return status;
  status = Judge(worker_->executor().EndStep());
  if (!status.ok()) return status;
  phase_ = Phase::kEnded;
  last_ended_ = step_->step.index();
  return status;
}

absl::Status CheckedRank::Abandon(absl::string_view why) {
  absl::Status status = CheckNotClosed();
  if (status.ok()) status = CheckBegun("abandon");
  if (!status.ok()) return status;
  worker_->executor().Abandon(absl::AbortedError(why));
  phase_ = Phase::kTaken;
  return absl::OkStatus();
}

absl::Status CheckedRank::AcknowledgeDurable(uint64_t step) {
  if (absl::Status status = CheckNotEnded(); !status.ok()) return status;
  // The consumer knows only which it has handed out, some of them ahead of the trainer.
  if (!last_ended_.has_value() || step > *last_ended_) {
    return InvalidField("step", step,
                        last_ended_.has_value() ? absl::StrCat("at most ", *last_ended_,
                                                               ", the last to end")
                                                : "none: no step has ended");
  }
  return worker_->consumer().AcknowledgeDurable(step);
}

absl::Status CheckedRank::Close() {
  if (absl::Status status = CheckNotEnded(); !status.ok()) return status;
  closed_ = true;
  return worker_->consumer().Close();
}

void CheckedRank::Cancel() {
  cancelled_ = true;
  worker_->Cancel();
}

}  // namespace evenpack::worker
