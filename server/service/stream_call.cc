#include "server/service/stream_call.h"

#include <utility>

namespace evenpack {

void StreamCall::Start() {
  self_ = shared_from_this();
  absl::Status status = Admit();
  if (!status.ok()) return End(std::move(status));
  if (!calls_.Add(self_)) return End(TooMany(calls_));
  Read();
}

void StreamCall::OnReadDone(bool ok) {
  const auto self = shared_from_this();
  if (ok) {
    // A peer that doesn't read keeps a write under way, and the call open, for as long
    // as it likes.
    MutexLock lock(mutex_);
    if (ending_.has_value()) return;
  }
  ReadDone(ok);
}

void StreamCall::OnWriteDone(bool ok) {
  const auto self = shared_from_this();
  Written(ok);
  {
    MutexLock lock(mutex_);
    writing_ = false;
  }
  if (!ok) return End(absl::CancelledError("the client is gone"));
  Pump();
}

void StreamCall::OnCancel() {
  const auto self = shared_from_this();
  End(absl::CancelledError("the client cancelled the call"));
}

void StreamCall::OnDone() {
  const auto self = std::move(self_);
  Left();
  calls_.Remove(self);
}

void StreamCall::End(absl::Status status) {
  {
    MutexLock lock(mutex_);
    if (!ending_.has_value()) ending_ = std::move(status);
  }
  Ending();
  Pump();
}

void StreamCall::Pump() {
  bool write = false;
  std::optional<absl::Status> finish;
  {
    MutexLock lock(mutex_);
    if (finished_ || writing_ || starting_reads_ > 0) return;
    writing_ = TakeNext();
    write = writing_;
    finished_ = !write && ending_.has_value() && MayFinish();
    if (finished_) finish = ending_;
  }
  if (write) StartWrite(&response_, options_);
  if (finish.has_value()) FinishWith(*finish);
}

void StreamCall::ReadNext() {
  Read();
  {
    MutexLock lock(mutex_);
    --starting_reads_;
  }
  Pump();
}

}  // namespace evenpack
