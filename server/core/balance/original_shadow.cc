#include "server/core/balance/original_shadow.h"

#include <algorithm>
#include <utility>

#include "server/core/packing/original.h"

namespace evenpack {

OriginalShadow::OriginalShadow(size_t micro_batches, uint32_t window, uint32_t longest,
                               WorkloadTable workload)
    : micro_batches_(micro_batches),
      window_(window),
      longest_(longest),
      workload_(std::move(workload)) {}

std::vector<StepBalance> OriginalShadow::Add(std::span<const uint32_t> admitted,
                                             MicroBatchSizes* last) {
  for (const uint32_t length : admitted) Append(length);
  const uint64_t batch_tokens = uint64_t{micro_batches_} * window_;

  std::vector<StepBalance> balances;
  // Of pending_: those before were packed.
  size_t begin = 0;
  while (true) {
    // A document is admitted with all of its pieces.
    uint64_t tokens = 0;
    size_t end = begin;
    while (end < pending_.size() &&
           (tokens < batch_tokens || end < begin + left_over_ ||
            !origins_[end].is_first)) {
      tokens += pending_[end++];
    }
    if (tokens < batch_tokens) break;
    const bool admits = end > begin + left_over_;
    const auto lengths = std::span(pending_).subspan(begin, end - begin);
    const std::vector<size_t> ends = OriginalEnds(lengths, micro_batches_, window_);
    if (admits) balances.push_back(Measure(begin, ends, last));
    begin += ends.back();
    left_over_ = end - begin;
  }
  const auto packed = static_cast<ptrdiff_t>(begin);
  pending_.erase(pending_.begin(), pending_.begin() + packed);
  origins_.erase(origins_.begin(), origins_.begin() + packed);
  return balances;
}

void OriginalShadow::Append(uint32_t document_length) {
  for (uint32_t left = document_length; left > 0;) {
    const uint32_t length = std::min(left, longest_);
    pending_.push_back(length);
    origins_.push_back({document_length, left == document_length});
    left -= length;
  }
}

StepBalance OriginalShadow::Measure(size_t begin, std::span<const size_t> ends,
                                    MicroBatchSizes* sizes) const {
  if (sizes != nullptr) *sizes = {};
  BalanceMeter meter(workload_, window_);
  size_t i = begin;
  for (const size_t end : ends) {
    uint64_t tokens = 0;
    int64_t workload_ns = 0;
    for (; i < begin + end; ++i) {
      tokens += pending_[i];
      workload_ns += workload_.AttentionNs(pending_[i]);
      meter.AddDocument(pending_[i], origins_[i].document_length);
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
