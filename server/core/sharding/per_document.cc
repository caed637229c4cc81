#include "server/core/sharding/per_document.h"

#include <cstddef>

#include "server/core/sharding/shard_request.h"

namespace evenpack {
namespace {

void CutPaddingFree(std::span<const uint32_t> lengths, ShardPlan& plan) {
  const uint32_t slots = plan.slots();
  uint32_t cursor = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint32_t slot_tokens = lengths[i] / slots;
    const uint32_t left_over = lengths[i] - slot_tokens * slots;
    plan.slot_tokens[i] = slot_tokens;
    plan.left_over[i] = static_cast<uint16_t>(left_over);
    plan.cursor[i] = static_cast<uint16_t>(cursor);
    cursor += left_over;
    if (cursor >= slots) cursor -= slots;
  }
  plan.padded_tokens = plan.tokens();
}

void CutPadded(std::span<const uint32_t> lengths, ShardPlan& plan) {
  const uint64_t multiple = plan.pad_multiple;
  const uint64_t slot_of_multiple = multiple / plan.slots();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t multiples = (lengths[i] + multiple - 1) / multiple;
    plan.slot_tokens[i] = static_cast<uint32_t>(multiples * slot_of_multiple);
    plan.padded_tokens += multiples * multiple;
  }
}

}  // namespace

absl::StatusOr<ShardPlan> PlanPerDocument(std::span<const uint32_t> lengths,
                                          uint32_t context_parallel, uint32_t pad_to) {
  if (absl::Status status = ValidateShardRequest(lengths, context_parallel, pad_to);
      !status.ok()) {
    return status;
  }
  ShardPlan plan;
  plan.sharding = Sharding::kPerDocument;
  plan.context_parallel = context_parallel;
  plan.pad_multiple = *PadMultiple(context_parallel, pad_to);
  plan.document_starts = DocumentStarts(lengths);
  plan.slot_tokens.resize(lengths.size());
  plan.left_over.resize(lengths.size());
  plan.cursor.resize(lengths.size());
  if (plan.pad_multiple == 0) {
    CutPaddingFree(lengths, plan);
  } else {
    CutPadded(lengths, plan);
  }
  return plan;
}

}  // namespace evenpack
