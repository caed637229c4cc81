// Whether a step is what it claims to be.
#ifndef EVENPACK_CLIENT_CPP_VERIFY_STEP_H_
#define EVENPACK_CLIENT_CPP_VERIFY_STEP_H_

#include "absl/status/status.h"
#include "client/cpp/rank_step.h"
#include "server/core/digest/digest.h"

namespace evenpack::client {

// `previous`: digest of the step before, as its receiver computed or was told it; of
// step 0, GenesisDigest(). Checked are
// - the chain: the step follows `previous`, and its digest is that of the digests of
//   all micro-batches;
// - of the rank's own micro-batches: that they are dp_rank * M and so on, the digest of
//   documents, tokens and padding, that of the plan, and, where slices came, theirs and
//   that the plan gives these and no other.
// DATA_LOSS naming the step and, where it is one, the micro-batch.
absl::Status VerifyStep(const RankStep& step, const Digest128& previous);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_VERIFY_STEP_H_
