#include "server/control/first_reports.h"

#include <algorithm>

namespace evenpack {

bool FirstReports::Add(uint64_t step, uint32_t micro_batch, size_t micro_batches) {
  if (step < first_) return false;
  const auto most = static_cast<size_t>(
      std::clamp<uint64_t>(kMaxMicroBatches / micro_batches, 1, kMaxSteps));
  reported_.try_emplace(step, micro_batches, false);
  while (reported_.size() > most) {
    first_ = reported_.begin()->first + 1;
    reported_.erase(reported_.begin());
  }
  if (step < first_) return false;
  std::vector<bool>::reference reported = reported_.find(step)->second[micro_batch];
  const bool is_first = !reported;
  reported = true;
  return is_first;
}

void FirstReports::Clear() {
  reported_.clear();
  first_ = 0;
}

}  // namespace evenpack
