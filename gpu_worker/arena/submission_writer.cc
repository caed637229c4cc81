#include "gpu_worker/arena/submission_writer.h"

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

absl::Status SubmissionWriter::Collect(uint64_t number) {
  ArenaHeader& header = arena_.header();
  const auto over = [&] {
    return header.ended.value.load(std::memory_order_acquire) != 0 || is_gone_();
  };
  if (!AwaitValue(header.completed, number, over)) {
    return header.ended.value.load(std::memory_order_acquire) != 0
               ? ReadResult(header.end)
               : absl::UnavailableError("the worker is gone; open a session anew");
  }
  for (; collected_ < number; ++collected_) {
    if (untold_.ok()) untold_ = ReadResult(arena_.slot(collected_ + 1).result);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SubmissionWriter::Submit(const Submission& submission) {
  if (submitted_ >= kRingSlots) {
    if (absl::Status status = Collect(submitted_ - kRingSlots + 1); !status.ok()) {
      return status;
    }
  }
  arena_.slot(submitted_ + 1).submission = submission;
  Advance(arena_.header().submitted, ++submitted_);
  return submitted_;
}

absl::Status SubmissionWriter::CheckSubmitted(uint64_t number) const {
  if (number <= submitted_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("submission ", number,
                                                 " is not accepted; accepted: up to ",
                                                 submitted_, ", the last made"));
}

absl::Status SubmissionWriter::Wait(uint64_t number) {
  if (absl::Status status = CheckSubmitted(number); !status.ok()) return status;
  if (absl::Status status = Collect(number); !status.ok()) return status;
  return std::exchange(untold_, absl::OkStatus());
}

}  // namespace evenpack::worker
