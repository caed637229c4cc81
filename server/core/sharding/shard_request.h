// What may be asked of a shard plan, and the padding multiple that follows from it.
#ifndef EVENPACK_SERVER_CORE_SHARDING_SHARD_REQUEST_H_
#define EVENPACK_SERVER_CORE_SHARDING_SHARD_REQUEST_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack {

// Largest number of ranks in a context-parallel (CP) group.
inline constexpr uint32_t kMaxContextParallel = 1024;
// Largest multiple to which tokens are padded.
inline constexpr uint32_t kMaxPadMultiple = 2147483647;

// lcm(pad_to, 2 * context_parallel), or 0 where pad_to is 0: no padding.
// INVALID_ARGUMENT: context_parallel not in 1..kMaxContextParallel, pad_to or the
// multiple above kMaxPadMultiple.
absl::StatusOr<uint32_t> PadMultiple(uint32_t context_parallel, uint32_t pad_to);

// `lengths`: tokens of each document of one micro-batch, in sequence order; may be
// empty. INVALID_ARGUMENT: as PadMultiple, or a length not in
// 1..kMaxDocumentLength, or more than 2^31 - 1 documents.
absl::Status ValidateShardRequest(std::span<const uint32_t> lengths,
                                  uint32_t context_parallel, uint32_t pad_to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_SHARD_REQUEST_H_
