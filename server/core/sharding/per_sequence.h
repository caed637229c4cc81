// Per-sequence sharding: the packed sequence, whatever its documents, is cut in 2*CP
// contiguous slots (WLB-LLM, section 5; the usual sharding of ring attention).
#ifndef EVENPACK_SERVER_CORE_SHARDING_PER_SEQUENCE_H_
#define EVENPACK_SERVER_CORE_SHARDING_PER_SEQUENCE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// T tokens, S = 2*CP slots. Padding-free: each slot gets T / S tokens, and the first
// T mod S slots one more. Up to CP of those are front slots of different ranks, the
// others back slots of different ranks, so that the ranks too stay within one token of
// each other. With padding: T is padded at its end, and the slots are equal.
//
// INVALID_ARGUMENT: as ValidateShardRequest. Time O(documents + CP).
absl::StatusOr<ShardPlan> PlanPerSequence(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_PER_SEQUENCE_H_
