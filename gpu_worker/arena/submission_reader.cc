#include "gpu_worker/arena/submission_reader.h"

#include <chrono>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

absl::Status SubmissionReader::Await(Timeline& timeline, uint64_t value) const {
  const bool reached = AwaitValue(timeline, value, [this] { return IsCancelled(); });
  return reached && !IsCancelled() ? absl::OkStatus()
                                   : absl::CancelledError("the session is closed");
}

absl::StatusOr<Submission> SubmissionReader::Next() {
  ArenaHeader& header = arena_.header();
  const uint64_t number = taken_ + 1;
  if (absl::Status status = Await(header.submitted, number); !status.ok())
    return status;
  const uint64_t submitted = header.submitted.value.load(std::memory_order_acquire);
  // Read after it: a trainer submits no more than fits beside what it has seen done.
  const uint64_t completed = this->completed();
  if (submitted - completed > kRingSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("submitted: ", submitted, " is not accepted; accepted: up to ",
                     completed + kRingSlots, ", ", kRingSlots, " under way"));
  }
  const Submission submission = arena_.slot(number).submission;
  if (absl::Status status = Await(header.ready, submission.ready); !status.ok()) {
    return status;
  }
  taken_ = number;
  started_ns_[number % kRingSlots] = NowNs();
  return submission;
}

void SubmissionReader::Complete(const absl::Status& status) {
  const uint64_t number = completed() + 1;
  SubmissionResult& result = arena_.slot(number).result;
  WriteResult(status, result);
  result.started_ns = started_ns_[number % kRingSlots];
  result.finished_ns = NowNs();
  completed_.store(number, std::memory_order_release);
  Advance(arena_.header().completed, number);
}

void SubmissionReader::End(const absl::Status& why) {
  ArenaHeader& header = arena_.header();
  WriteResult(why, header.end);
  Advance(header.ended, 1);
  WakeWaiters(header.completed);
}

void SubmissionReader::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  WakeWaiters(arena_.header().submitted);
  WakeWaiters(arena_.header().ready);
}

}  // namespace evenpack::worker
