// Whether a decoded state is one that the engine can go on from.
#ifndef EVENPACK_SERVER_CORE_ENGINE_STATE_CHECK_H_
#define EVENPACK_SERVER_CORE_ENGINE_STATE_CHECK_H_

#include "absl/status/status.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// A checksum finds damage; this finds what some other writer got wrong. Every list is
// as long as the others need it, every number in its range, every document where
// documents of its kind may be, and each record of the history can be undone. DATA_LOSS
// naming the part that contradicts the rest; FAILED_PRECONDITION of CheckNotNewer.
absl::Status CheckState(const JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_STATE_CHECK_H_
