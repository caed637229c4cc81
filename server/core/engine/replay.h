// A job's state from what a store keeps of it.
#ifndef EVENPACK_SERVER_CORE_ENGINE_REPLAY_H_
#define EVENPACK_SERVER_CORE_ENGINE_REPLAY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// The state of `snapshot` (EncodeState; empty: before the first event), and then every
// event of `records` (EncodeEvent) applied. Record 0 here is the job's number
// `first_record`, which errors name. DATA_LOSS: bytes that are no state or no event;
// FAILED_PRECONDITION: a version of the format, or of the policy, that is not known.
// `let_go_epoch`, unless it is null: Step.epoch of the last step that was let go, where
// these records let one go; a state doesn't have it.
absl::StatusOr<JobState> Replay(std::string_view snapshot, uint64_t first_record,
                                std::span<const std::string> records,
                                std::optional<uint64_t>* let_go_epoch = nullptr);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_REPLAY_H_
