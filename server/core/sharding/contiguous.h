// Contiguous sharding: the packed sequence, whatever its documents, is cut in CP runs,
// one for each rank in rank order (the llama3 style of ring-flash-attention).
#ifndef EVENPACK_SERVER_CORE_SHARDING_CONTIGUOUS_H_
#define EVENPACK_SERVER_CORE_SHARDING_CONTIGUOUS_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// Rank r gets slots 2r and 2r + 1, the halves of its run. Padding-free: ranks stay
// within one token of each other, as do slots. With padding: the sequence is padded at
// its end, and the runs are equal.
//
// Late ranks have more keys to attend to: this sharding is for consumers that can use
// no other (docs/adr/0012).
//
// INVALID_ARGUMENT: as ValidateShardRequest. Time O(documents + CP).
absl::StatusOr<ShardPlan> PlanContiguous(std::span<const uint32_t> lengths,
                                         uint32_t context_parallel, uint32_t pad_to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_CONTIGUOUS_H_
