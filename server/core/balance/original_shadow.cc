#include "server/core/balance/original_shadow.h"

#include <utility>

#include "server/core/packing/original.h"

namespace evenpack {

OriginalShadow::OriginalShadow(size_t micro_batches, uint32_t window,
                               WorkloadTable workload)
    : micro_batches_(micro_batches), window_(window), workload_(std::move(workload)) {}

std::vector<StepBalance> OriginalShadow::Add(std::span<const Document> admitted,
                                             MicroBatchSizes* last) {
  pending_.insert(pending_.end(), admitted.begin(), admitted.end());
  OriginalOptions options;
  options.micro_batches = micro_batches_;
  options.capacity.tokens = window_;
  const uint64_t batch_tokens = uint64_t{micro_batches_} * window_;

  std::vector<StepBalance> balances;
  // Of pending_: those before were packed.
  size_t begin = 0;
  while (true) {
    uint64_t tokens = 0;
    size_t end = begin;
    while (end < pending_.size() &&
           (tokens < batch_tokens || end < begin + left_over_)) {
      tokens += pending_[end++].length;
    }
    if (tokens < batch_tokens) break;
    const bool admits = end > begin + left_over_;
    Packing packing = PackOriginal(
        PointTo(std::span(pending_).subspan(begin, end - begin)), options, workload_);
    if (admits) {
      Step step;
      step.micro_batches = std::move(packing.micro_batches);
      balances.push_back(MeasureBalance(step, workload_, window_));
      if (last != nullptr) *last = SizesOf(step.micro_batches);
    }
    // What is left over is the end of the list.
    left_over_ = packing.left_over.size();
    begin = end - left_over_;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(begin));
  return balances;
}

}  // namespace evenpack
