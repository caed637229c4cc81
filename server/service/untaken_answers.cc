#include "server/service/untaken_answers.h"

#include <algorithm>

namespace evenpack {
namespace {

uint64_t CallsOf(uint64_t bytes) { return 1 + bytes / kAnswerBytesOfACall; }

}  // namespace

UntakenAnswers::UntakenAnswers(uint64_t max_calls)
    : limit_(max_calls == 0 ? 0 : std::max(max_calls, kLeastUntakenAnswers)) {}

bool UntakenAnswers::HasRoom(const std::string& peer) const {
  if (limit_ == 0) return true;
  MutexLock lock(mutex_);
  const auto found = calls_.find(peer);
  return found == calls_.end() || found->second < limit_;
}

void UntakenAnswers::Add(const std::string& peer, uint64_t bytes) {
  if (limit_ == 0) return;
  MutexLock lock(mutex_);
  calls_[peer] += CallsOf(bytes);
}

void UntakenAnswers::Remove(const std::string& peer, uint64_t bytes) {
  if (limit_ == 0) return;
  MutexLock lock(mutex_);
  const auto found = calls_.find(peer);
  found->second -= CallsOf(bytes);
  if (found->second == 0) calls_.erase(found);
}

size_t UntakenAnswers::size() const {
  MutexLock lock(mutex_);
  return calls_.size();
}

}  // namespace evenpack
