// Digests by which two parties agree that they cut a micro-batch alike.
#ifndef EVENPACK_SERVER_CORE_SHARDING_PLAN_DIGEST_H_
#define EVENPACK_SERVER_CORE_SHARDING_PLAN_DIGEST_H_

#include <cstdint>

#include "server/core/digest/digest.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// The words (a | b << k packs two numbers into one word):
//   1                                   the layout's version
//   sharding | context_parallel << 32
//   pad_multiple
//   padded_tokens
//   number of documents n
//   per_sequence, contiguous: n words: length; then the 2*CP + 1 slot starts
//   per_document: n times two words: length | slot_tokens << 32,
//                 left_over | cursor << 32
//   hybrid: n words: length | owner << 32, where 65,535 owns what is cut; then the
//                 2*CP + 1 slot starts
Digest128 PlanDigest(const ShardPlan& plan);

// The words:
//   1                                   the layout's version
//   rank
//   number of slices n
//   front_slices
//   tokens
//   padding
//   n times two words: document, begin | end << 32
Digest128 RankSlicesDigest(uint32_t rank, const RankSlices& slices);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_PLAN_DIGEST_H_
