// What a job's consumer layout means for packing: padding, and what fits in a
// micro-batch. docs/adr/0011 gives the rules and their reasons.
#ifndef EVENPACK_SERVER_CORE_ENGINE_JOB_LAYOUT_H_
#define EVENPACK_SERVER_CORE_ENGINE_JOB_LAYOUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/document/padding.h"
#include "server/core/engine/job_spec.h"
#include "server/core/packing/capacity.h"

namespace evenpack {

// Tokens to whose multiples parallelism alone has documents, and whole micro-batches,
// padded; the second is a multiple of the first. 1: no such padding.
struct ParallelUnits {
  uint32_t document = 1;
  uint32_t total = 1;
};
ParallelUnits ParallelUnitsOf(const JobSpec& spec);

// Valid as long as `spec` is there unchanged.
PaddingRule PaddingRuleOf(const JobSpec& spec);

// What the policy fills a micro-batch up to: max_length tokens for kWlb and kBalanced,
// else window, padding included, and max_documents. Valid as PaddingRuleOf.
Capacity CapacityOf(const JobSpec& spec);

// Tokens of the longest document, or piece, that fits in a micro-batch: max_length, or
// less where that is no length of a padded micro-batch.
uint32_t LongestDocument(const JobSpec& spec);

// Pieces of a document, at most: a step admits documents whole.
inline constexpr uint32_t kMaxPieces = 65536;

// Tokens of the longest document that is accepted: LongestDocument or, where longer
// ones are cut, kMaxPieces times that, but at most kMaxDocumentLength.
uint32_t LongestAccepted(const JobSpec& spec);

// INVALID_ARGUMENT naming the first of layout's fields, or of those that it binds
// (sharding, context_parallel, the length of a micro-batch), that doesn't fit the rest.
// The other fields of `spec` are in their ranges.
absl::Status ValidateLayout(const JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_JOB_LAYOUT_H_
