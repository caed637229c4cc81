#include "gpu_worker/session/pass_tensors.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

constexpr std::array<absl::string_view, kBackwardTensors> kNames = {
    "query",          "key",          "value",
    "output",         "log_sum_exp",  "output_gradient",
    "query_gradient", "key_gradient", "value_gradient"};

struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
};
using Extents = std::array<Extent, kBackwardTensors>;

uint64_t RowBytes(uint32_t tensor, const AttentionShape& shape) {
  switch (tensor) {
    case kLogSumExp:
      return shape.query_heads * sizeof(float);
    case kKey:
    case kValue:
    case kKeyGradient:
    case kValueGradient:
      return shape.kv_row() * BytesOf(shape.type);
    default:
      return shape.query_row() * BytesOf(shape.type);
  }
}

bool IsWritten(uint32_t tensor, SubmissionKind kind) {
  return kind == SubmissionKind::kForward ? tensor == kOutput || tensor == kLogSumExp
                                          : tensor >= kQueryGradient;
}

absl::StatusOr<Extent> ExtentOf(const Submission& submission, uint32_t tensor,
                                uint64_t bytes, uint64_t arena_bytes) {
  const uint64_t begin = submission.tensors[tensor];
  if (begin % kTensorAlignment != 0) {
    return InvalidField(kNames[tensor], begin,
                        absl::StrCat("a multiple of ", kTensorAlignment));
  }
  if (bytes > arena_bytes || begin > arena_bytes - bytes) {
    return InvalidField(kNames[tensor], begin,
                        absl::StrCat("an offset that leaves ", bytes,
                                     " bytes of the arena's ", arena_bytes));
  }
  return Extent{begin, begin + bytes};
}

absl::Status CheckApart(const Extents& extents, uint32_t tensors, SubmissionKind kind) {
  for (uint32_t written = 0; written < tensors; ++written) {
    if (!IsWritten(written, kind)) continue;
    for (uint32_t other = 0; other < tensors; ++other) {
      if (other == written || extents[other].end <= extents[written].begin ||
          extents[written].end <= extents[other].begin) {
        continue;
      }
      return InvalidField(
          kNames[written], extents[written].begin,
          absl::StrCat("memory apart from that of ", kNames[other], ", ",
                       extents[other].begin, " to ", extents[other].end));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PassTensors> TensorsOf(const Submission& submission, const Arena& arena,
                                      const PreparedMicroBatch& prepared) {
  if (submission.rows != prepared.held_rows) {
    return InvalidField(
        "rows", submission.rows,
        absl::StrCat(prepared.held_rows, ", what the rank holds of micro-batch ",
                     submission.micro_batch, " of step ", submission.step));
  }
  const uint32_t tensors =
      submission.kind == SubmissionKind::kForward ? kForwardTensors : kBackwardTensors;
  Extents extents;
  std::array<char*, kBackwardTensors> at{};
  for (uint32_t tensor = 0; tensor < tensors; ++tensor) {
    const absl::StatusOr<Extent> extent =
        ExtentOf(submission, tensor, submission.rows * RowBytes(tensor, prepared.shape),
                 arena.data_bytes());
    if (!extent.ok()) return extent.status();
    extents[tensor] = *extent;
    at[tensor] = arena.data() + extent->begin;
  }
  absl::Status status = CheckApart(extents, tensors, submission.kind);
  if (!status.ok()) return status;
  PassTensors found;
  found.input = {at[kQuery], at[kKey], at[kValue]};
  found.output = {at[kOutput], reinterpret_cast<float*>(at[kLogSumExp])};
  found.output_gradient = at[kOutputGradient];
  found.gradients = {at[kQueryGradient], at[kKeyGradient], at[kValueGradient]};
  return found;
}

}  // namespace evenpack::worker
