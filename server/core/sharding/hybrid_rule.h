// What hybrid sharding decides from besides lengths and kernel latencies.
#ifndef EVENPACK_SERVER_CORE_SHARDING_HYBRID_RULE_H_
#define EVENPACK_SERVER_CORE_SHARDING_HYBRID_RULE_H_

#include <cstdint>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {

// Times are of one layer, in picoseconds, on the scale of the kernel latencies that
// they are added to: where these are of the forward pass and a choice is to count both
// passes, divide what both take by how much longer both take attention than forward
// does.
struct HybridRule {
  // How far a rank's tokens may be from the mean, in millionths of it; a token is
  // always within it. 0 to 1,000,000.
  uint32_t token_tolerance_ppm = 20'000;
  // What a token takes on the rank that holds it, beside attention. 0 to 10^8.
  int64_t token_ps = 0;
  // What a token of a cut document takes the whole group, for its key and value to
  // travel. 0 to 10^8; 0: exchanges are hidden, or not counted.
  int64_t cut_token_ps = 0;

  friend bool operator==(const HybridRule&, const HybridRule&) = default;
};

// INVALID_ARGUMENT naming the first bad field, as a job's `hybrid`.
inline absl::Status Validate(const HybridRule& rule) {
  constexpr int64_t kMostPs = 100'000'000;
  absl::Status status =
      CheckRange("hybrid.token_tolerance_ppm", rule.token_tolerance_ppm, 0, 1'000'000);
  status.Update(CheckRange("hybrid.token_ps", rule.token_ps, 0, kMostPs));
  status.Update(CheckRange("hybrid.cut_token_ps", rule.cut_token_ps, 0, kMostPs));
  return status;
}

// Whether `tokens` of `total` over `ranks` are as near to the mean as the rule asks.
// total < 2^62.
inline bool IsNearMean(uint64_t tokens, uint64_t total, uint32_t ranks,
                       const HybridRule& rule) {
  const absl::uint128 all = absl::uint128(tokens) * ranks;
  const absl::uint128 away = all > total ? all - total : total - all;
  return away <= ranks ||
         away * 1'000'000 <= absl::uint128(total) * rule.token_tolerance_ppm;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_HYBRID_RULE_H_
