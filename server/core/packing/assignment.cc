#include "server/core/packing/assignment.h"

namespace evenpack {

int64_t Workload(const MicroBatch& micro_batch, const WorkloadTable& workload) {
  int64_t attention = 0;
  for (const Document& document : micro_batch.documents) {
    attention += workload.AttentionNs(document.length);
  }
  return attention + workload.LinearNs(micro_batch.tokens + micro_batch.padding);
}

void Complete(const PaddingRule& padding, const WorkloadTable& workload,
              MicroBatch& micro_batch) {
  micro_batch.padding = PaddingOf(padding, micro_batch);
  micro_batch.workload_ns = Workload(micro_batch, workload);
}

Packing Collect(const WorkList& work_list, std::span<const uint32_t> bins,
                size_t bin_count, const PaddingRule& padding,
                const WorkloadTable& workload) {
  std::vector<size_t> counts(bin_count, 0);
  size_t left_over = 0;
  for (const uint32_t bin : bins) {
    if (bin == kLeftOver) {
      ++left_over;
    } else {
      ++counts[bin];
    }
  }
  Packing packing;
  packing.micro_batches.resize(bin_count);
  packing.left_over.reserve(left_over);
  for (size_t b = 0; b < bin_count; ++b) {
    packing.micro_batches[b].documents.reserve(counts[b]);
  }
  for (size_t i = 0; i < work_list.size(); ++i) {
    PrefetchBehind(work_list, i);
    if (bins[i] == kLeftOver) {
      packing.left_over.push_back(work_list[i]);
      continue;
    }
    MicroBatch& micro_batch = packing.micro_batches[bins[i]];
    micro_batch.documents.push_back(*work_list[i]);
    micro_batch.tokens += work_list[i]->length;
  }
  for (MicroBatch& micro_batch : packing.micro_batches) {
    Complete(padding, workload, micro_batch);
  }
  return packing;
}

}  // namespace evenpack
