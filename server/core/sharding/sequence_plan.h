// What the shardings of the packed sequence have in common: its documents don't matter,
// and slots are runs of it.
#ifndef EVENPACK_SERVER_CORE_SHARDING_SEQUENCE_PLAN_H_
#define EVENPACK_SERVER_CORE_SHARDING_SEQUENCE_PLAN_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// `sharding` is kPerSequence or kContiguous; the rest, and errors, as PlanPerSequence.
absl::StatusOr<ShardPlan> PlanSequence(Sharding sharding,
                                       std::span<const uint32_t> lengths,
                                       uint32_t context_parallel, uint32_t pad_to);

// Fills slot_starts of a plan whose other fields stand: a padded sequence of
// padded_tokens is cut, a padding-free one of tokens().
void CutSequence(ShardPlan& plan);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_SEQUENCE_PLAN_H_
