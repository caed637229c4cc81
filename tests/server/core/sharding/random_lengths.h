// Micro-batches for property tests.
#ifndef EVENPACK_TESTS_SERVER_CORE_SHARDING_RANDOM_LENGTHS_H_
#define EVENPACK_TESTS_SERVER_CORE_SHARDING_RANDOM_LENGTHS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/sharding/contiguous.h"
#include "server/core/sharding/per_document.h"
#include "server/core/sharding/per_sequence.h"

namespace evenpack {

// 0 to bound - 1, the same on every standard library.
inline uint64_t Draw(std::mt19937_64& random, uint64_t bound) {
  return random() % bound;
}

// Up to 40 documents; half of the draws have lengths around the number of slots,
// where cuts have most edge cases.
inline std::vector<uint32_t> RandomLengths(std::mt19937_64& random, uint32_t slots) {
  const uint64_t longest = Draw(random, 2) == 0 ? 2 * slots : 100 * slots;
  std::vector<uint32_t> lengths(Draw(random, 41));
  for (uint32_t& length : lengths) {
    length = static_cast<uint32_t>(1 + Draw(random, longest));
  }
  return lengths;
}

// Every CP from 1 to 40 and the large ones around powers of ten and two.
inline std::vector<uint32_t> ContextParallelSizes() {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 1; size <= 40; ++size) sizes.push_back(size);
  sizes.insert(sizes.end(), {1000, 1023, 1024});
  return sizes;
}

// Shapes that broke other people's sharding.
inline std::vector<std::vector<uint32_t>> AwkwardLengths() {
  std::vector<uint32_t> dust(50, 1);
  dust[20] = 1000003;
  return {{},        {1},
          {1, 1, 1}, {2},
          {3, 1, 2}, std::vector<uint32_t>(100, 1),
          dust,      {2147483647, 1, 2147483647}};
}

// All that a plan can have but kHybrid, whose plans are RandomMix's.
inline constexpr Sharding kPlannedShardings[] = {
    Sharding::kPerSequence, Sharding::kPerDocument, Sharding::kContiguous};

// One of kPlannedShardings; the arguments are known to be good.
inline ShardPlan PlanOf(Sharding sharding, const std::vector<uint32_t>& lengths,
                        uint32_t context_parallel, uint32_t pad_to = 0) {
  if (sharding == Sharding::kPerDocument) {
    return *PlanPerDocument(lengths, context_parallel, pad_to);
  }
  return sharding == Sharding::kContiguous
             ? *PlanContiguous(lengths, context_parallel, pad_to)
             : *PlanPerSequence(lengths, context_parallel, pad_to);
}

// A plan of hybrid sharding such as no planner would make: documents whole on random
// ranks or cut, in slots of random size, some empty.
inline ShardPlan RandomMix(std::mt19937_64& random,
                           const std::vector<uint32_t>& lengths,
                           uint32_t context_parallel) {
  ShardPlan plan;
  plan.sharding = Sharding::kHybrid;
  plan.context_parallel = context_parallel;
  plan.document_starts = DocumentStarts(lengths);
  plan.padded_tokens = plan.tokens();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool whole = Draw(random, 2) == 0;
    plan.owner.push_back(whole ? static_cast<uint16_t>(Draw(random, context_parallel))
                               : kCutDocument);
  }
  plan.slot_starts = {0, kWholeShare};
  while (plan.slot_starts.size() < plan.slots() + 1) {
    plan.slot_starts.push_back(Draw(random, 8) == 0 ? kWholeShare / 2
                                                    : Draw(random, kWholeShare + 1));
  }
  std::sort(plan.slot_starts.begin(), plan.slot_starts.end());
  return plan;
}

}  // namespace evenpack

#endif  // EVENPACK_TESTS_SERVER_CORE_SHARDING_RANDOM_LENGTHS_H_
