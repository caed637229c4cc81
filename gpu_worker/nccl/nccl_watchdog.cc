#include "gpu_worker/nccl/nccl_watchdog.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

NcclWatchdog::NcclWatchdog(NcclConnection& connection, const NcclTiming& timing)
    : connection_(connection), timing_(timing), thread_([this] { Run(); }) {}

NcclWatchdog::~NcclWatchdog() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void NcclWatchdog::Watch(std::shared_ptr<const UnderWay> transfer) {
  MutexLock lock(mutex_);
  under_way_.push_back(std::move(transfer));
}

void NcclWatchdog::Run() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (!ending_) changed_.WaitFor(mutex_, timing_.poll_interval);
      if (ending_) return;
    }
    absl::Status status = connection_.Check();
    if (status.ok()) status = Look();
    if (!status.ok()) connection_.Abort(status);
  }
}

absl::Status NcclWatchdog::Look() {
  MutexLock lock(mutex_);
  while (!under_way_.empty()) {
    const absl::StatusOr<bool> done = under_way_.front()->done->IsReached();
    if (!done.ok()) return done.status();
    if (!*done) return LookAtFirst();
    under_way_.pop_front();
    since_.reset();
  }
  return absl::OkStatus();
}

absl::Status NcclWatchdog::LookAtFirst() {
  const UnderWay& first = *under_way_.front();
  const Clock::TimePoint now = timing_.clock->Now();
  if (!since_.has_value()) {
    const absl::StatusOr<bool> begun = first.begun->IsReached();
    if (!begun.ok()) return begun.status();
    if (*begun) since_ = now;
    return absl::OkStatus();
  }
  if (now - *since_ < timing_.exchange_timeout) return absl::OkStatus();
  const NcclSeat& seat = connection_.seat();
  return absl::UnavailableError(absl::StrCat(
      "cp_rank ", seat.rank, " of ", seat.ranks, ": exchange ", first.number,
      " did not end within ",
      std::chrono::duration_cast<std::chrono::milliseconds>(timing_.exchange_timeout)
          .count(),
      " ms: a peer does not take part; the group is aborted"));
}

}  // namespace evenpack::worker
