#include "gpu_worker/sidecar_client/sidecar_link.h"

#include <utility>

namespace evenpack::worker {

SidecarLink::SidecarLink(Attachment attachment)
    : attachment_(std::move(attachment)),
      allocator_(attachment_.arena().data_bytes()),
      writer_(attachment_.arena(), [this] { return attachment_.IsGone(); }) {}

std::string SidecarLink::token() const {
  return {attachment_.token().begin(), attachment_.token().end()};
}

absl::StatusOr<ArenaBlock> SidecarLink::Allocate(uint64_t bytes) {
  if (absl::Status status = attachment_.CheckProcess(); !status.ok()) return status;
  const absl::StatusOr<uint64_t> offset = allocator_.Allocate(bytes);
  if (!offset.ok()) return offset.status();
  return ArenaBlock{*offset, attachment_.arena().data() + *offset};
}

absl::StatusOr<uint64_t> SidecarLink::Submit(const Submission& submission) {
  if (absl::Status status = attachment_.CheckProcess(); !status.ok()) return status;
  return writer_.Submit(submission);
}

void SidecarLink::SignalReady(uint64_t value) {
  if (attachment_.CheckProcess().ok()) writer_.SignalReady(value);
}

absl::StatusOr<uint64_t> SidecarLink::SubmitMark(SubmissionKind kind, uint64_t step) {
  Submission submission;
  submission.kind = kind;
  submission.step = step;
  return Submit(submission);
}

absl::StatusOr<uint64_t> SidecarLink::BeginStep(uint64_t step) {
  return SubmitMark(SubmissionKind::kBeginStep, step);
}

absl::StatusOr<uint64_t> SidecarLink::EndStep(uint64_t step) {
  return SubmitMark(SubmissionKind::kEndStep, step);
}

absl::StatusOr<uint64_t> SidecarLink::SubmitPass(Submission submission,
                                                 const ArenaTensors& tensors) {
  submission.tensors[kQuery] = tensors.query;
  submission.tensors[kKey] = tensors.key;
  submission.tensors[kValue] = tensors.value;
  submission.tensors[kOutput] = tensors.output;
  submission.tensors[kLogSumExp] = tensors.log_sum_exp;
  submission.tensors[kOutputGradient] = tensors.output_gradient;
  submission.tensors[kQueryGradient] = tensors.query_gradient;
  submission.tensors[kKeyGradient] = tensors.key_gradient;
  submission.tensors[kValueGradient] = tensors.value_gradient;
  return Submit(submission);
}

absl::StatusOr<uint64_t> SidecarLink::Forward(uint64_t step, uint32_t micro_batch,
                                              uint64_t rows,
                                              const ArenaTensors& tensors,
                                              uint64_t ready, const Digest128& plan) {
  return SubmitPass(
      {SubmissionKind::kForward, micro_batch, step, rows, ready, {}, plan}, tensors);
}

absl::StatusOr<uint64_t> SidecarLink::Backward(uint64_t step, uint32_t micro_batch,
                                               uint64_t rows,
                                               const ArenaTensors& tensors,
                                               uint64_t ready, const Digest128& plan) {
  return SubmitPass(
      {SubmissionKind::kBackward, micro_batch, step, rows, ready, {}, plan}, tensors);
}

}  // namespace evenpack::worker
