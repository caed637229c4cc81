// Padding behind a micro-batch's last document, beyond what its sharding needs: for
// consumers that want shapes of their own.
#ifndef EVENPACK_SERVER_CORE_SHARDING_PAD_END_H_
#define EVENPACK_SERVER_CORE_SHARDING_PAD_END_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// Raises plan.padded_tokens to `padded_tokens`.
// - A plan with a pad_multiple: the padding belongs to the last document's padded
// range.
//   A sequence is cut anew with it; by document, the slots of the last document share
//   its range equally. Each rank holds padded_tokens / CP.
// - A padding-free plan: no slice changes. Ranks hold the padding as evenly as
// possible,
//   and stay within one token of each other with it (HeldTokens).
//
// INVALID_ARGUMENT: padded_tokens is less than the plan has, more than that and above
// kMaxDocumentLength, no multiple of pad_multiple, or not 0 for a plan without
// documents.
absl::Status PadEnd(uint64_t padded_tokens, ShardPlan& plan);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_PAD_END_H_
