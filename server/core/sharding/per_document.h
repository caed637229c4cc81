// Per-document sharding: every document is cut in 2*CP slots, so that each rank has
// the same share of each document's causal triangle (WLB-LLM, section 5).
#ifndef EVENPACK_SERVER_CORE_SHARDING_PER_DOCUMENT_H_
#define EVENPACK_SERVER_CORE_SHARDING_PER_DOCUMENT_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// Padding-free: a document of d = q * 2*CP + r tokens gives each slot q; the r left
// over go one each to the next r slots of a cursor that starts at slot 0, rolls over
// the slots and carries on with the next document. So slot totals, and with them rank
// totals, stay within one token of each other: they equal those of per_sequence.
// With padding: each document is padded at its end to the multiple, its slots are
// equal, and a slice is what the slot has of the document's own tokens.
//
// INVALID_ARGUMENT: as ValidateShardRequest. Time O(documents).
absl::StatusOr<ShardPlan> PlanPerDocument(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_PER_DOCUMENT_H_
