#include "tests/testing/fault_store.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace evenpack::testing {

absl::Status FaultStore::Commit(std::span<const StoreWrite> writes) {
  MutexLock lock(mutex_);
  ++waiting_;
  changed_.SignalAll();
  while (blocked_) changed_.Wait(mutex_);
  --waiting_;
  if (Fails(writes)) return absl::InternalError("the disk is full");
  if (away_) return absl::UnknownError("the store is away");
  absl::Status status = store_.Commit(writes);
  if (std::exchange(leaves_, false)) away_ = true;
  if (away_ || (lost_answer_ > 0 && --lost_answer_ == 0)) {
    return absl::UnknownError("the answer is lost");
  }
  if (status.ok()) commits_.push_back(writes.size());
  return status;
}

absl::StatusOr<StoredJob> FaultStore::Load(const std::string& job) {
  {
    MutexLock lock(mutex_);
    ++loads_;
    ++waiting_loads_;
    changed_.SignalAll();
    while (loads_blocked_) changed_.Wait(mutex_);
    --waiting_loads_;
    if (away_) return absl::UnavailableError("the store is away");
    if (failing_loads_ > 0) {
      --failing_loads_;
      return absl::InternalError("the disk is gone");
    }
  }
  return store_.Load(job);
}

void FaultStore::FailCommits(int count, int skip) {
  MutexLock lock(mutex_);
  failing_commits_ = count;
  skipped_commits_ = skip;
}

void FaultStore::FailCommitsOf(const std::string& job) {
  MutexLock lock(mutex_);
  failing_job_ = job;
}

void FaultStore::FailLoads(int count) {
  MutexLock lock(mutex_);
  failing_loads_ = count;
}

void FaultStore::GoAway(bool after_a_commit) {
  MutexLock lock(mutex_);
  leaves_ = after_a_commit;
  away_ = !after_a_commit;
}

void FaultStore::ComeBack() {
  MutexLock lock(mutex_);
  away_ = false;
}

void FaultStore::LoseAnswer(int skip) {
  MutexLock lock(mutex_);
  lost_answer_ = skip + 1;
}

void FaultStore::Block() {
  MutexLock lock(mutex_);
  blocked_ = true;
}

void FaultStore::Release() {
  MutexLock lock(mutex_);
  blocked_ = false;
  loads_blocked_ = false;
  changed_.SignalAll();
}

void FaultStore::WaitUntilBlocked() {
  MutexLock lock(mutex_);
  while (waiting_ == 0) changed_.Wait(mutex_);
}

void FaultStore::BlockLoads() {
  MutexLock lock(mutex_);
  loads_blocked_ = true;
}

void FaultStore::WaitUntilLoadBlocked() {
  MutexLock lock(mutex_);
  while (waiting_loads_ == 0) changed_.Wait(mutex_);
}

int FaultStore::loads() const {
  MutexLock lock(mutex_);
  return loads_;
}

std::vector<size_t> FaultStore::commits() const {
  MutexLock lock(mutex_);
  return commits_;
}

bool FaultStore::Fails(std::span<const StoreWrite> writes) {
  const auto is_of_failing_job =
      [this](const StoreWrite& write) EVENPACK_REQUIRES(mutex_) {
        return std::visit(
                   [](const auto& held) {
                     if constexpr (requires { held.job; }) {
                       return held.job;
                     } else {
                       return held.profile;
                     }
                   },
                   write) == failing_job_;
      };
  if (!failing_job_.empty() &&
      std::any_of(writes.begin(), writes.end(), is_of_failing_job)) {
    return true;
  }
  if (failing_commits_ == 0) return false;
  if (skipped_commits_ > 0) {
    --skipped_commits_;
    return false;
  }
  --failing_commits_;
  return true;
}

}  // namespace evenpack::testing
