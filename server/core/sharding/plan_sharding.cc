#include "server/core/sharding/plan_sharding.h"

#include <utility>

#include "server/core/document/invalid_field.h"
#include "server/core/sharding/adaptive.h"
#include "server/core/sharding/contiguous.h"
#include "server/core/sharding/hybrid.h"
#include "server/core/sharding/per_document.h"
#include "server/core/sharding/per_sequence.h"

namespace evenpack {

absl::StatusOr<ShardPlan> PlanSharding(Sharding sharding,
                                       std::span<const uint32_t> lengths,
                                       uint32_t context_parallel, uint32_t pad_to,
                                       const KernelLatencyTable& table,
                                       const HybridRule& rule) {
  switch (sharding) {
    case Sharding::kPerSequence:
      return PlanPerSequence(lengths, context_parallel, pad_to);
    case Sharding::kPerDocument:
      return PlanPerDocument(lengths, context_parallel, pad_to);
    case Sharding::kAdaptive: {
      absl::StatusOr<ShardingChoice> choice =
          ChooseSharding(lengths, context_parallel, pad_to, table);
      if (!choice.ok()) return choice.status();
      return std::move(choice->plan);
    }
    case Sharding::kContiguous:
      return PlanContiguous(lengths, context_parallel, pad_to);
    case Sharding::kHybrid: {
      absl::StatusOr<HybridChoice> choice =
          ChooseHybrid(lengths, context_parallel, pad_to, table, rule);
      if (!choice.ok()) return choice.status();
      return std::move(choice->plan);
    }
  }
  return InvalidField(
      "sharding", static_cast<uint32_t>(sharding),
      "0 (per_sequence), 1 (per_document), 2 (adaptive), 3 (contiguous) or 4 (hybrid)");
}

}  // namespace evenpack
