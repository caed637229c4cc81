// Which documents are outliers, and which delay queue each of them waits in
// (WLB-LLM section 4.2, Algorithm 1, lines 1 to 7).
#ifndef EVENPACK_SERVER_CORE_OUTLIER_QUEUE_THRESHOLDS_H_
#define EVENPACK_SERVER_CORE_OUTLIER_QUEUE_THRESHOLDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"

namespace evenpack {

// Thresholds L_1 < L_2 < ... in tokens. None at all means no queues: nothing waits.
// INVALID_ARGUMENT where they don't rise, or one is outside 1 to 2^31-1.
absl::Status ValidateQueueThresholds(std::span<const uint32_t> thresholds);

// The queue, from 0, of a document of `length` tokens: k with L_{k+1} <= length <
// L_{k+2}, the last queue being unbounded. Nothing for a document below L_1.
std::optional<size_t> QueueOf(std::span<const uint32_t> thresholds, uint32_t length);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_OUTLIER_QUEUE_THRESHOLDS_H_
