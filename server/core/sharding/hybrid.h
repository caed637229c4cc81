// Hybrid sharding: short documents whole on one rank, long ones cut, so that the
// slowest rank is predicted to be done first.
#ifndef EVENPACK_SERVER_CORE_SHARDING_HYBRID_H_
#define EVENPACK_SERVER_CORE_SHARDING_HYBRID_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/sharding/hybrid_rule.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// Predicted time of a plan by a rule, in nanoseconds: the kernel's launch, the slowest
// rank's slices and tokens, and what the cut documents' keys take to travel. Rounded to
// the nearest; capped at the largest int64_t. With a rule of zeros the slowest of
// PredictRankNs (adaptive.h).
int64_t PredictHybridNs(const ShardPlan& plan, const KernelLatencyTable& table,
                        const HybridRule& rule);

// Whether each rank's tokens are as near to the mean as the rule asks.
bool IsWithinTolerance(const ShardPlan& plan, const HybridRule& rule);

struct HybridChoice {
  // kHybrid, or kPerSequence or kPerDocument where no mix is predicted to be faster.
  ShardPlan plan;
  int64_t predicted_ns = 0;
};

// Mixes cut the k longest documents, for some k, unevenly (level_cut.h), and place the
// others whole, longest first, each on the rank with least load by then. The number of
// mixes that are tried is bounded. per_sequence and per_document are within a token of
// even, so that they are always allowed; at a tie per_sequence is taken, then
// per_document. A pure function of its arguments. A micro-batch of 2^32 tokens or of
// 2^61 ps of attention is not mixed.
//
// INVALID_ARGUMENT: as ValidateShardRequest and Validate(HybridRule), a pad_to other
// than 0, or an empty table.
// Time O(documents * log(documents * CP)) where short documents are whole, and
// O(documents * CP) at most where all have to be cut.
absl::StatusOr<HybridChoice> ChooseHybrid(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to,
                                          const KernelLatencyTable& table,
                                          const HybridRule& rule);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_HYBRID_H_
