#include "server/core/sharding/per_sequence.h"

#include <algorithm>
#include <cstddef>

#include "server/core/sharding/shard_request.h"

namespace evenpack {

absl::StatusOr<ShardPlan> PlanPerSequence(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to) {
  if (absl::Status status = ValidateShardRequest(lengths, context_parallel, pad_to);
      !status.ok()) {
    return status;
  }
  ShardPlan plan;
  plan.sharding = Sharding::kPerSequence;
  plan.context_parallel = context_parallel;
  plan.pad_multiple = *PadMultiple(context_parallel, pad_to);

  plan.document_starts = DocumentStarts(lengths);
  const uint64_t tokens = plan.tokens();
  plan.padded_tokens = tokens;
  if (plan.pad_multiple != 0) {
    const uint64_t multiple = plan.pad_multiple;
    plan.padded_tokens = (tokens + multiple - 1) / multiple * multiple;
  }

  const uint32_t slots = plan.slots();
  const uint64_t slot_tokens = plan.padded_tokens / slots;
  const uint64_t left_over = plan.padded_tokens % slots;
  plan.slot_starts.resize(slots + 1);
  for (uint64_t slot = 0; slot <= slots; ++slot) {
    const uint64_t start = slot * slot_tokens + std::min(slot, left_over);
    plan.slot_starts[slot] = std::min(start, tokens);
  }
  return plan;
}

}  // namespace evenpack
