#include "server/core/sharding/plan_digest.h"

#include <cstddef>

namespace evenpack {
namespace {

constexpr uint64_t kLayoutVersion = 1;

uint64_t Pack(uint64_t low, uint64_t high) { return low | high << 32; }

}  // namespace

Digest128 PlanDigest(const ShardPlan& plan) {
  DigestBuilder builder;
  builder.Word(kLayoutVersion);
  builder.Word(Pack(static_cast<uint64_t>(plan.sharding), plan.context_parallel));
  builder.Word(plan.pad_multiple);
  builder.Word(plan.padded_tokens);
  builder.Word(plan.documents());
  if (plan.sharding == Sharding::kPerDocument) {
    for (size_t i = 0; i < plan.documents(); ++i) {
      builder.Word(Pack(plan.length(i), plan.slot_tokens[i]));
      builder.Word(Pack(plan.left_over[i], plan.cursor[i]));
    }
  } else {
    const bool hybrid = plan.sharding == Sharding::kHybrid;
    for (size_t i = 0; i < plan.documents(); ++i) {
      builder.Word(Pack(plan.length(i), hybrid ? plan.owner[i] : 0));
    }
    for (const uint64_t start : plan.slot_starts) builder.Word(start);
  }
  return builder.Finish();
}

Digest128 RankSlicesDigest(uint32_t rank, const RankSlices& slices) {
  DigestBuilder builder;
  builder.Word(kLayoutVersion);
  builder.Word(rank);
  builder.Word(slices.size());
  builder.Word(slices.front_slices);
  builder.Word(slices.tokens);
  builder.Word(slices.padding);
  for (size_t i = 0; i < slices.size(); ++i) {
    builder.Word(slices.document[i]);
    builder.Word(Pack(slices.begin[i], slices.end[i]));
  }
  return builder.Finish();
}

}  // namespace evenpack
