#include "server/core/sharding/adaptive.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/per_document.h"
#include "server/core/sharding/per_sequence.h"

namespace evenpack {
namespace {

int64_t PredictNs(const RankSlices& slices, const KernelLatencyTable& table) {
  absl::uint128 picoseconds = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    picoseconds += static_cast<uint64_t>(
        table.SlicePs(slices.end[i] - slices.begin[i], slices.end[i]));
  }
  const absl::uint128 nanoseconds =
      (picoseconds + 500) / 1000 + static_cast<uint64_t>(table.launch_ns());
  constexpr int64_t kCap = std::numeric_limits<int64_t>::max();
  return nanoseconds > static_cast<uint64_t>(kCap)
             ? kCap
             : static_cast<int64_t>(absl::Uint128Low64(nanoseconds));
}

int64_t SlowestRankNs(const ShardPlan& plan, const KernelLatencyTable& table) {
  const std::vector<int64_t> ranks = PredictRankNs(plan, table);
  return *std::max_element(ranks.begin(), ranks.end());
}

}  // namespace

std::vector<int64_t> PredictRankNs(const ShardPlan& plan,
                                   const KernelLatencyTable& table) {
  std::vector<int64_t> predictions;
  predictions.reserve(plan.context_parallel);
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    predictions.push_back(PredictNs(slices, table));
  }
  return predictions;
}

absl::StatusOr<ShardingChoice> ChooseSharding(std::span<const uint32_t> lengths,
                                              uint32_t context_parallel,
                                              uint32_t pad_to,
                                              const KernelLatencyTable& table) {
  absl::StatusOr<ShardPlan> sequence =
      PlanPerSequence(lengths, context_parallel, pad_to);
  if (!sequence.ok()) return sequence.status();
  if (table.empty()) {
    return InvalidField("kernel_latency_table", "an empty table",
                        "a table with knots, where sharding is adaptive");
  }
  absl::StatusOr<ShardPlan> document =
      PlanPerDocument(lengths, context_parallel, pad_to);
  if (!document.ok()) return document.status();

  ShardingChoice choice;
  choice.per_sequence_ns = SlowestRankNs(*sequence, table);
  choice.per_document_ns = SlowestRankNs(*document, table);
  choice.plan = choice.per_document_ns < choice.per_sequence_ns ? *std::move(document)
                                                                : *std::move(sequence);
  return choice;
}

}  // namespace evenpack
