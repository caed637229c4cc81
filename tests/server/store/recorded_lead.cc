#include "tests/server/store/recorded_lead.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/runtime/clock.h"

namespace evenpack::testing {

std::vector<std::string> RecordedLead::Take() {
  MutexLock lock(mutex_);
  return std::exchange(events_, {});
}

bool RecordedLead::Await(const std::string& event) {
  const Clock::TimePoint end = Clock::Steady().Now() + std::chrono::seconds(30);
  MutexLock lock(mutex_);
  while (std::find(events_.begin(), events_.end(), event) == events_.end()) {
    const auto left = end - Clock::Steady().Now();
    if (left.count() <= 0) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

void RecordedLead::Record(std::string event) {
  MutexLock lock(mutex_);
  events_.push_back(std::move(event));
  changed_.SignalAll();
}

}  // namespace evenpack::testing
