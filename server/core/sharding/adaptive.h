// Adaptive sharding: per micro-batch, the sharding whose slowest rank is predicted to
// finish its forward attention first (WLB-LLM, section 5).
#ifndef EVENPACK_SERVER_CORE_SHARDING_ADAPTIVE_H_
#define EVENPACK_SERVER_CORE_SHARDING_ADAPTIVE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// Predicted forward latency of one layer's attention on each rank, in nanoseconds:
// the launch plus the sum of the rank's slices, each with q_len = end - begin and
// kv_len = end. Rounded to the nearest nanosecond; capped at the largest int64_t.
// Padding counts nothing. A rank without slices is given the launch too.
std::vector<int64_t> PredictRankNs(const ShardPlan& plan,
                                   const KernelLatencyTable& table);

struct ShardingChoice {
  ShardPlan plan;
  // The slowest rank's prediction under either sharding.
  int64_t per_sequence_ns = 0;
  int64_t per_document_ns = 0;
};

// Builds both plans and keeps the one whose slowest rank has the lower prediction; at
// a tie per_sequence, which has fewer slices.
// INVALID_ARGUMENT: as ValidateShardRequest, or an empty table.
// Time O(slices of both plans), at most O(documents * CP).
absl::StatusOr<ShardingChoice> ChooseSharding(std::span<const uint32_t> lengths,
                                              uint32_t context_parallel,
                                              uint32_t pad_to,
                                              const KernelLatencyTable& table);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_ADAPTIVE_H_
