// What a step's micro-batches take and hold, as columns over them.
#ifndef EVENPACK_SERVER_CORE_BALANCE_MICRO_BATCH_SIZES_H_
#define EVENPACK_SERVER_CORE_BALANCE_MICRO_BATCH_SIZES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "server/core/document/micro_batch.h"

namespace evenpack {

struct MicroBatchSizes {
  // Predicted forward latency.
  std::vector<int64_t> workload_ns;
  std::vector<uint32_t> tokens;
  // Beside these. Empty where all are 0.
  std::vector<uint32_t> padding;

  friend bool operator==(const MicroBatchSizes&, const MicroBatchSizes&) = default;
};

// Of micro-batches of less than 2^32 tokens with padding, as every policy packs them.
MicroBatchSizes SizesOf(std::span<const MicroBatch> micro_batches);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_BALANCE_MICRO_BATCH_SIZES_H_
