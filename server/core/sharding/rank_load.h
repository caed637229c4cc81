// What a plan gives a rank to hold and to compute.
#ifndef EVENPACK_SERVER_CORE_SHARDING_RANK_LOAD_H_
#define EVENPACK_SERVER_CORE_SHARDING_RANK_LOAD_H_

#include <cstdint>
#include <vector>

#include "server/core/sharding/shard_plan.h"

namespace evenpack {

struct RankLoad {
  // Real tokens, and the padding held besides.
  uint64_t tokens = 0;
  uint64_t padding = 0;
  // (query, key) pairs under the causal mask: token t of a document attends to t + 1
  // keys, so a slice [b, e) has (e(e+1) - b(b+1)) / 2. Capped at 2^64 - 1, which takes
  // more than eight documents of the greatest length.
  uint64_t attended_pairs = 0;
  uint64_t slices = 0;

  friend bool operator==(const RankLoad&, const RankLoad&) = default;
};

RankLoad LoadOf(const RankSlices& slices);

// One entry per rank. The plan as for ExpandRank; one rank is expanded at a time, into
// `slices`, whose memory is used again.
std::vector<RankLoad> RankLoads(const ShardPlan& plan, RankSlices& slices);
std::vector<RankLoad> RankLoads(const ShardPlan& plan);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_RANK_LOAD_H_
