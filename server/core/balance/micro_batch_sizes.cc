#include "server/core/balance/micro_batch_sizes.h"

namespace evenpack {

MicroBatchSizes SizesOf(std::span<const MicroBatch> micro_batches) {
  MicroBatchSizes sizes;
  sizes.workload_ns.reserve(micro_batches.size());
  sizes.tokens.reserve(micro_batches.size());
  uint64_t padding = 0;
  for (const MicroBatch& micro_batch : micro_batches) {
    sizes.workload_ns.push_back(micro_batch.workload_ns);
    sizes.tokens.push_back(static_cast<uint32_t>(micro_batch.tokens));
    padding += micro_batch.padding;
  }
  if (padding == 0) return sizes;
  sizes.padding.reserve(micro_batches.size());
  for (const MicroBatch& micro_batch : micro_batches) {
    sizes.padding.push_back(static_cast<uint32_t>(micro_batch.padding));
  }
  return sizes;
}

}  // namespace evenpack
