#include "server/control/late_reads.h"

#include <algorithm>

namespace evenpack {

void LateReads::ReadDue() {
  std::erase_if(paces_, [](const auto& pace) { return !pace.first->IsToBeRead(); });
  for (const std::shared_ptr<Job>& job : jobs_.ByAge()) {
    if (!job->IsToBeRead() || !IsDue(job)) continue;
    if (!job->ReadAgain()) {
      paces_.erase(job);
      continue;
    }
    Pace& pace = paces_[job];
    pace.pause = std::min(2 * pace.pause, kLastPause);
    pace.tried = clock_.Now();
  }
}

bool LateReads::IsDue(const std::shared_ptr<Job>& job) {
  const Clock::TimePoint now = clock_.Now();
  // It failed just now.
  const auto [entry, is_new] = paces_.try_emplace(job, Pace{now, kFirstPause});
  const Pace& pace = entry->second;
  const auto passed = now - pace.tried;
  return passed >= pace.pause || (passed >= kFirstPause && job->TakeWanted());
}

}  // namespace evenpack
