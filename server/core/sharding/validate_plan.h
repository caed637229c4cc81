// The proof that a plan, or a set of slices from anywhere, is a sharding of its
// micro-batch: nothing twice, nothing left out, balanced as its kind promises.
#ifndef EVENPACK_SERVER_CORE_SHARDING_VALIDATE_PLAN_H_
#define EVENPACK_SERVER_CORE_SHARDING_VALIDATE_PLAN_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "server/core/document/micro_batch.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// `ranks`: the slices of rank 0, 1, ... of a plan of `lengths`. Checked are:
// - form: columns of equal size, documents in range and rising within each slot
//   (rank-major order), slices not empty and within their documents;
// - cover: every token of every document in exactly one slice, later tokens of a
//   document in later slots;
// - cut: per_sequence and contiguous: the slots follow one another through the
//   sequence; per_document: a document's slots are within one token of each other, and
//   with padding at equal steps;
//   hybrid: no more than that, since shares and tolerances are the planner's;
// - balance, but of hybrid: slot totals and rank totals within one token of each other;
//   with padding, tokens + padding the same on each rank, and both together what
//   `padded_tokens` says: 0 stands for no more than the sharding needs, any other
//   number for one that PadEnd would accept;
// - the sums `tokens` and `padding` of each rank.
//
// FAILED_PRECONDITION naming rank, document and token: a check fails.
// INVALID_ARGUMENT: as ValidateShardRequest, sharding kAdaptive, or a pad_to with
// kHybrid.
absl::Status ValidateSlices(std::span<const uint32_t> lengths, Sharding sharding,
                            uint32_t context_parallel, uint32_t pad_to,
                            std::span<const RankSlices> ranks,
                            uint64_t padded_tokens = 0);

// Any ShardPlan value is taken, damaged ones too: the columns are checked against the
// definition of the sharding, then the expansion of every rank as in ValidateSlices,
// one rank at a time, so the memory is O(documents). FAILED_PRECONDITION for whatever
// is wrong.
absl::Status Validate(const ShardPlan& plan);

// As Validate, and that the plan is one of these lengths.
absl::Status Validate(const ShardPlan& plan, std::span<const uint32_t> lengths);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_VALIDATE_PLAN_H_
