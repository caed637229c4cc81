#include "server/service/live_calls.h"

namespace evenpack {

bool LiveCalls::Add(const std::shared_ptr<DrainableCall>& call) {
  bool draining = false;
  {
    MutexLock lock(mutex_);
    if (calls_.size() >= limit_) return false;
    calls_.insert(call);
    ++opened_;
    draining = draining_;
  }
  if (draining) call->Drain();
  return true;
}

void LiveCalls::Remove(const std::shared_ptr<DrainableCall>& call) {
  MutexLock lock(mutex_);
  calls_.erase(call);
  if (calls_.empty()) removed_.SignalAll();
}

void LiveCalls::WaitUntilNone(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!calls_.empty() && std::chrono::steady_clock::now() < end) {
    removed_.WaitFor(mutex_, end - std::chrono::steady_clock::now());
  }
}

void LiveCalls::Drain() {
  std::vector<std::shared_ptr<DrainableCall>> calls;
  {
    MutexLock lock(mutex_);
    draining_ = true;
    calls.assign(calls_.begin(), calls_.end());
  }
  for (const std::shared_ptr<DrainableCall>& call : calls) call->Drain();
}

void LiveCalls::RolesChanged() {
  std::vector<std::shared_ptr<DrainableCall>> calls;
  {
    MutexLock lock(mutex_);
    calls.assign(calls_.begin(), calls_.end());
  }
  for (const std::shared_ptr<DrainableCall>& call : calls) call->RolesChanged();
}

size_t LiveCalls::size() const {
  MutexLock lock(mutex_);
  return calls_.size();
}

uint64_t LiveCalls::opened() const {
  MutexLock lock(mutex_);
  return opened_;
}

}  // namespace evenpack
