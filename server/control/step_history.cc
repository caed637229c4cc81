#include "server/control/step_history.h"

#include <algorithm>
#include <utility>

namespace evenpack {

void StepHistory::Add(StepObservation step) {
  micro_batches_ += step.sizes.tokens.size();
  steps_.push_back(std::make_shared<const StepObservation>(std::move(step)));
  while (micro_batches_ > kMaxMicroBatches) ForgetColumns();
  if (steps_.size() <= kMaxSteps) return;
  if (without_columns_ == 0) ForgetColumns();
  steps_.pop_front();
  --without_columns_;
}

void StepHistory::ForgetColumns() {
  std::shared_ptr<const StepObservation>& oldest = steps_[without_columns_++];
  micro_batches_ -= oldest->sizes.tokens.size();
  // Others may be reading it.
  auto bare = std::make_shared<StepObservation>(*oldest);
  bare->sizes = {};
  bare->original_sizes = {};
  oldest = std::move(bare);
}

void StepHistory::Withdraw(uint64_t from) {
  while (!steps_.empty() && steps_.back()->index >= from) {
    micro_batches_ -= steps_.back()->sizes.tokens.size();
    steps_.pop_back();
  }
  without_columns_ = std::min(without_columns_, steps_.size());
}

StepHistory::Steps StepHistory::Last(size_t most, uint64_t from) const {
  auto begin = std::lower_bound(
      steps_.begin(), steps_.end(), from,
      [](const auto& step, uint64_t index) { return step->index < index; });
  if (static_cast<size_t>(steps_.end() - begin) > most) {
    begin = steps_.end() - static_cast<std::ptrdiff_t>(most);
  }
  return {begin, steps_.end()};
}

}  // namespace evenpack
