#include "gpu_worker/communicator/exchange_board.h"

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/exchange_terms.h"

namespace evenpack::worker {

ExchangeBoard::ExchangeBoard(uint32_t ranks, std::chrono::nanoseconds timeout)
    : ranks_(ranks), timeout_(timeout), posted_(ranks) {}

void ExchangeBoard::Post(uint32_t rank, uint64_t number, const Exchange& exchange) {
  {
    MutexLock lock(mutex_);
    posted_[rank][number] = {exchange, ranks_ - 1, 0, true};
  }
  changed_.SignalAll();
}

std::optional<Exchange> ExchangeBoard::BeginRead(uint32_t peer, uint64_t number,
                                                 uint32_t rank, const Exchange& to) {
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  MutexLock lock(mutex_);
  while (reason_.ok() && !posted_[peer].contains(number)) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      SetReason(absl::UnavailableError(absl::StrCat("cp_rank ", peer,
                                                    " did not begin exchange ", number,
                                                    " in time; the group is aborted")));
      break;
    }
    changed_.WaitFor(mutex_, left);
  }
  if (!reason_.ok()) return std::nullopt;
  Posted& posted = posted_[peer].at(number);
  absl::Status status =
      CheckTerms(rank, TermsWith(peer, to), peer, TermsWith(rank, posted.exchange));
  if (!status.ok()) {
    SetReason(status);
    return std::nullopt;
  }
  ++posted.reading;
  return posted.exchange;
}

void ExchangeBoard::EndRead(uint32_t peer, uint64_t number) {
  {
    MutexLock lock(mutex_);
    Posted& posted = posted_[peer].at(number);
    --posted.reading;
    --posted.unread;
  }
  changed_.SignalAll();
}

void ExchangeBoard::EndReceive(uint32_t rank, uint64_t number) {
  {
    MutexLock lock(mutex_);
    posted_[rank].at(number).receiving = false;
  }
  changed_.SignalAll();
}

absl::Status ExchangeBoard::Finish(uint32_t rank, uint64_t number) {
  MutexLock lock(mutex_);
  const auto found = posted_[rank].find(number);
  const Posted& posted = found->second;
  while (posted.receiving || posted.reading > 0 ||
         (posted.unread > 0 && reason_.ok())) {
    changed_.Wait(mutex_);
  }
  const bool complete = posted.unread == 0 && reason_.ok();
  posted_[rank].erase(found);
  return complete ? absl::OkStatus() : reason_;
}

void ExchangeBoard::Abort(const absl::Status& reason) {
  MutexLock lock(mutex_);
  SetReason(reason);
}

absl::Status ExchangeBoard::reason() const {
  MutexLock lock(mutex_);
  return reason_;
}

void ExchangeBoard::SetReason(const absl::Status& reason) {
  if (reason_.ok()) reason_ = reason;
  changed_.SignalAll();
}

}  // namespace evenpack::worker
