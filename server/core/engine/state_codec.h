// A job's state as bytes: what a snapshot and a checkpoint hold. docs/formats.md gives
// the layout.
#ifndef EVENPACK_SERVER_CORE_ENGINE_STATE_CODEC_H_
#define EVENPACK_SERVER_CORE_ENGINE_STATE_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Rises with every change of the layout.
inline constexpr uint32_t kStateFormatVersion = 7;
// That is read too: a server's jobs outlive it.
inline constexpr uint32_t kOldestStateFormatVersion = 4;

// The same state gives the same bytes.
std::string EncodeState(const JobState& state);

// DATA_LOSS where the bytes are damaged, cut, or contradict each other (state_check.h);
// FAILED_PRECONDITION where a later version of the format wrote them, or one before the
// oldest, or they name a policy's later version.
absl::StatusOr<JobState> DecodeState(std::string_view bytes);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_STATE_CODEC_H_
