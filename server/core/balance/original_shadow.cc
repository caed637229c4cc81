#include "server/core/balance/original_shadow.h"

#include <utility>

#include "server/core/packing/original.h"

namespace evenpack {

OriginalShadow::OriginalShadow(size_t micro_batches, uint32_t window,
                               WorkloadTable workload)
    : micro_batches_(micro_batches), window_(window), workload_(std::move(workload)) {}

std::vector<StepBalance> OriginalShadow::Add(std::span<const uint32_t> admitted,
                                             MicroBatchSizes* last) {
  pending_.insert(pending_.end(), admitted.begin(), admitted.end());
  const uint64_t batch_tokens = uint64_t{micro_batches_} * window_;

  std::vector<StepBalance> balances;
  // Of pending_: those before were packed.
  size_t begin = 0;
  while (true) {
    uint64_t tokens = 0;
    size_t end = begin;
    while (end < pending_.size() &&
           (tokens < batch_tokens || end < begin + left_over_)) {
      tokens += pending_[end++];
    }
    if (tokens < batch_tokens) break;
    const bool admits = end > begin + left_over_;
    const auto lengths = std::span(pending_).subspan(begin, end - begin);
    const std::vector<size_t> ends = OriginalEnds(lengths, micro_batches_, window_);
    if (admits) balances.push_back(Measure(lengths, ends, last));
    begin += ends.back();
    left_over_ = end - begin;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(begin));
  return balances;
}

StepBalance OriginalShadow::Measure(std::span<const uint32_t> lengths,
                                    std::span<const size_t> ends,
                                    MicroBatchSizes* sizes) const {
  if (sizes != nullptr) *sizes = {};
  BalanceMeter meter(workload_, window_);
  size_t i = 0;
  for (const size_t end : ends) {
    uint64_t tokens = 0;
    int64_t workload_ns = 0;
    for (; i < end; ++i) {
      tokens += lengths[i];
      workload_ns += workload_.AttentionNs(lengths[i]);
      meter.AddDocument(lengths[i], lengths[i]);
    }
    workload_ns += workload_.LinearNs(tokens);
    meter.AddMicroBatch(tokens, workload_ns);
    if (sizes == nullptr) continue;
    sizes->workload_ns.push_back(workload_ns);
    sizes->tokens.push_back(static_cast<uint32_t>(tokens));
  }
  return meter.Balance();
}

}  // namespace evenpack
