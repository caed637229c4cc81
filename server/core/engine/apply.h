// Apply: the half of the state machine that changes the state.
#ifndef EVENPACK_SERVER_CORE_ENGINE_APPLY_H_
#define EVENPACK_SERVER_CORE_ENGINE_APPLY_H_

#include <cstdint>
#include <optional>

#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// `event` is what Decide() gave for this very state, or the journal's next event for
// it; then this can't fail. It never packs: the event says what was decided.
// `let_go_epoch`, unless it is null: Step.epoch of the last step that the event let go,
// where it let any go, and nothing where it put another history in place of the job's.
// Not thread-safe: the caller holds the job's lock.
void Apply(Event event, JobState& state,
           std::optional<uint64_t>* let_go_epoch = nullptr);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_APPLY_H_
