#include "server/core/sharding/hybrid.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/mix_search.h"
#include "server/core/sharding/per_document.h"
#include "server/core/sharding/per_sequence.h"
#include "server/core/sharding/shard_request.h"

namespace evenpack {
namespace {

using absl::uint128;

uint128 ExchangePs(const ShardPlan& plan, const HybridRule& rule) {
  return uint128(static_cast<uint64_t>(rule.cut_token_ps)) * CutTokens(plan);
}

uint128 RankPs(const RankSlices& slices, const KernelLatencyTable& table,
               const HybridRule& rule) {
  uint128 picoseconds = uint128(static_cast<uint64_t>(rule.token_ps)) * slices.tokens;
  for (size_t i = 0; i < slices.size(); ++i) {
    picoseconds += static_cast<uint64_t>(
        table.SlicePs(slices.end[i] - slices.begin[i], slices.end[i]));
  }
  return picoseconds;
}

// None as soon as it is above `most`, which often takes but one rank.
std::optional<uint128> PlanPs(const ShardPlan& plan, const KernelLatencyTable& table,
                              const HybridRule& rule, uint128 most) {
  const uint128 exchange = ExchangePs(plan, rule);
  uint128 slowest = exchange;
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    slowest = std::max(slowest, exchange + RankPs(slices, table, rule));
    if (slowest > most) return std::nullopt;
  }
  return slowest;
}

int64_t WithLaunchNs(uint128 picoseconds, const KernelLatencyTable& table) {
  const uint128 nanoseconds =
      (picoseconds + 500) / 1000 + static_cast<uint64_t>(table.launch_ns());
  constexpr int64_t kCap = std::numeric_limits<int64_t>::max();
  return nanoseconds > static_cast<uint64_t>(kCap)
             ? kCap
             : static_cast<int64_t>(absl::Uint128Low64(nanoseconds));
}

ShardPlan PlanOfMix(std::span<const uint32_t> lengths, uint32_t context_parallel,
                    Mix mix) {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = context_parallel;
  plan.document_starts = DocumentStarts(lengths);
  plan.padded_tokens = plan.tokens();
  plan.owner = std::move(mix.owner);
  plan.slot_starts = std::move(mix.slot_starts);
  return plan;
}

absl::Status CheckRequest(uint32_t pad_to, const KernelLatencyTable& table,
                          const HybridRule& rule) {
  if (pad_to != 0) {
    return InvalidField("pad_to", pad_to, "0 (no padding), where sharding is hybrid");
  }
  if (table.empty()) {
    return InvalidField("kernel_latency_table", "an empty table",
                        "a table with knots, where sharding is hybrid");
  }
  return Validate(rule);
}

}  // namespace

int64_t PredictHybridNs(const ShardPlan& plan, const KernelLatencyTable& table,
                        const HybridRule& rule) {
  constexpr uint128 kAny = std::numeric_limits<uint128>::max();
  return WithLaunchNs(*PlanPs(plan, table, rule, kAny), table);
}

bool IsWithinTolerance(const ShardPlan& plan, const HybridRule& rule) {
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    if (!IsNearMean(slices.tokens, plan.tokens(), plan.context_parallel, rule)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<HybridChoice> ChooseHybrid(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to,
                                          const KernelLatencyTable& table,
                                          const HybridRule& rule) {
  absl::Status status = ValidateShardRequest(lengths, context_parallel, pad_to);
  status.Update(CheckRequest(pad_to, table, rule));
  if (!status.ok()) return status;
  uint128 best = std::numeric_limits<uint128>::max();
  ShardPlan plan;
  // A lone rank has all documents whole however they are cut.
  if (context_parallel > 1) {
    std::optional<Mix> mix = FindMix(lengths, context_parallel, table, rule);
    if (mix.has_value()) {
      best = mix->picoseconds;
      plan = PlanOfMix(lengths, context_parallel, *std::move(mix));
    }
  }
  for (const auto& planner : {PlanPerDocument, PlanPerSequence}) {
    absl::StatusOr<ShardPlan> other = planner(lengths, context_parallel, 0);
    if (!other.ok()) return other.status();
    const std::optional<uint128> picoseconds = PlanPs(*other, table, rule, best);
    if (!picoseconds.has_value()) continue;
    best = *picoseconds;
    plan = *std::move(other);
  }
  return HybridChoice{std::move(plan), WithLaunchNs(best, table)};
}

}  // namespace evenpack
