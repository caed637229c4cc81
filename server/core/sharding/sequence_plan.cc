#include "server/core/sharding/sequence_plan.h"

#include <algorithm>

#include "server/core/sharding/shard_request.h"

namespace evenpack {
namespace {

// Equal parts of `tokens`, but that the first ones have one more where need be.
class EvenParts {
 public:
  EvenParts(uint64_t tokens, uint64_t parts)
      : least_(tokens / parts), more_(tokens % parts) {}

  uint64_t Start(uint64_t part) const { return part * least_ + std::min(part, more_); }
  // Where the second half of a part starts; the first is larger where they differ.
  uint64_t Middle(uint64_t part) const {
    return Start(part) + (least_ + (part < more_ ? 1 : 0) + 1) / 2;
  }

 private:
  uint64_t least_;
  uint64_t more_;
};

}  // namespace

absl::StatusOr<ShardPlan> PlanSequence(Sharding sharding,
                                       std::span<const uint32_t> lengths,
                                       uint32_t context_parallel, uint32_t pad_to) {
  if (absl::Status status = ValidateShardRequest(lengths, context_parallel, pad_to);
      !status.ok()) {
    return status;
  }
  ShardPlan plan;
  plan.sharding = sharding;
  plan.context_parallel = context_parallel;
  plan.pad_multiple = *PadMultiple(context_parallel, pad_to);
  plan.document_starts = DocumentStarts(lengths);
  plan.padded_tokens = plan.tokens();
  if (plan.pad_multiple != 0) {
    const uint64_t multiple = plan.pad_multiple;
    plan.padded_tokens = (plan.tokens() + multiple - 1) / multiple * multiple;
  }
  CutSequence(plan);
  return plan;
}

void CutSequence(ShardPlan& plan) {
  const uint64_t tokens = plan.tokens();
  const uint64_t cut = plan.pad_multiple == 0 ? tokens : plan.padded_tokens;
  const uint32_t slots = plan.slots();
  plan.slot_starts.resize(slots + 1);
  if (plan.sharding == Sharding::kPerSequence) {
    const EvenParts parts(cut, slots);
    for (uint32_t slot = 0; slot <= slots; ++slot) {
      plan.slot_starts[slot] = std::min(parts.Start(slot), tokens);
    }
    return;
  }
  const EvenParts runs(cut, plan.context_parallel);
  for (uint32_t slot = 0; slot <= slots; ++slot) {
    const uint64_t start = slot % 2 == 0 ? runs.Start(slot / 2) : runs.Middle(slot / 2);
    plan.slot_starts[slot] = std::min(start, tokens);
  }
}

}  // namespace evenpack
