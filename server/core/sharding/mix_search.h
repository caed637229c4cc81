// The search for a mix of whole and cut documents: what hybrid.h is made of.
#ifndef EVENPACK_SERVER_CORE_SHARDING_MIX_SEARCH_H_
#define EVENPACK_SERVER_CORE_SHARDING_MIX_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/numeric/int128.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/sharding/hybrid_rule.h"
#include "server/core/sharding/level_cut.h"

namespace evenpack {

// Which documents are whole where, and how the others are cut: columns of a ShardPlan.
struct Mix {
  std::vector<uint16_t> owner;
  std::vector<uint64_t> slot_starts;
  // Of the slowest rank, with the rule's token_ps and cut_token_ps, without the launch.
  absl::uint128 picoseconds = 0;
};

// The fastest mix that it finds within the rule's tolerance, if any. `lengths` and
// context_parallel have passed ValidateShardRequest, the rule Validate. None for no
// documents, and for 2^32 tokens or 2^61 ps of attention and more.
std::optional<Mix> FindMix(std::span<const uint32_t> lengths, uint32_t context_parallel,
                           const KernelLatencyTable& table, const HybridRule& rule);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_MIX_SEARCH_H_
