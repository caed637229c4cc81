#include "server/core/sharding/contiguous.h"

#include "server/core/sharding/sequence_plan.h"

namespace evenpack {

absl::StatusOr<ShardPlan> PlanContiguous(std::span<const uint32_t> lengths,
                                         uint32_t context_parallel, uint32_t pad_to) {
  return PlanSequence(Sharding::kContiguous, lengths, context_parallel, pad_to);
}

}  // namespace evenpack
