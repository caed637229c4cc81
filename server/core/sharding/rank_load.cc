#include "server/core/sharding/rank_load.h"

#include <cstddef>
#include <limits>

#include "absl/numeric/int128.h"

namespace evenpack {

RankLoad LoadOf(const RankSlices& slices) {
  absl::uint128 pairs = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint64_t begin = slices.begin[i];
    const uint64_t end = slices.end[i];
    // e(e+1) - b(b+1) = (e - b)(e + b + 1), below 2^63 and even.
    pairs += (end - begin) * (end + begin + 1) / 2;
  }
  constexpr uint64_t kCap = std::numeric_limits<uint64_t>::max();
  RankLoad load;
  load.tokens = slices.tokens;
  load.padding = slices.padding;
  load.attended_pairs = pairs > kCap ? kCap : absl::Uint128Low64(pairs);
  load.slices = slices.size();
  return load;
}

std::vector<RankLoad> RankLoads(const ShardPlan& plan, RankSlices& slices) {
  std::vector<RankLoad> loads;
  loads.reserve(plan.context_parallel);
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    loads.push_back(LoadOf(slices));
  }
  return loads;
}

std::vector<RankLoad> RankLoads(const ShardPlan& plan) {
  RankSlices slices;
  return RankLoads(plan, slices);
}

}  // namespace evenpack
