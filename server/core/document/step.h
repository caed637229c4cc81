// A step: the N micro-batches that the data-parallel ranks run between two updates of
// the weights. DP rank r holds micro-batches r*M to r*M+M-1.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_STEP_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/core/digest/digest.h"
#include "server/core/document/micro_batch.h"

namespace evenpack {

// What a step was formed from. The numbers are part of stored formats.
enum class StepKind : uint8_t {
  kFullBatch = 0,  // a full global batch was admitted
  kBacklog = 1,    // nothing was admitted: waiting documents only
  kDrain = 2,      // all streams have ended: the rest
};

absl::string_view StepKindName(StepKind kind);

struct Step {
  // From 0, without gaps, across reconfigurations.
  uint64_t index = 0;
  // The shape epoch: rises by one with each reconfiguration.
  uint64_t epoch = 0;
  StepKind kind = StepKind::kFullBatch;
  // Always N of them; some may be empty, never all.
  std::vector<MicroBatch> micro_batches;
  // Chained over all steps from the first: see StepDigest.
  Digest128 digest;

  friend bool operator==(const Step&, const Step&) = default;
};

uint64_t StepTokens(const Step& step);

// The digest before the first step of any job.
Digest128 GenesisDigest();

// Gives each micro-batch its digest.
void AddDigests(Step& step);

// H(previous step's digest, index, the digests of the micro-batches in order): two
// parties with the same digest of step k hold the same steps 0 to k. The micro-batches
// have theirs.
Digest128 StepDigest(const Digest128& previous, const Step& step);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_STEP_H_
