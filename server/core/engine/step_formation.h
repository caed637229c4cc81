// Forms a job's next step: which documents are admitted, which waiting ones go, and
// how they are packed.
#ifndef EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_
#define EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "server/core/digest/digest.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Gives the micro-batches of the step and of the window's later ones their digests, but
// for a planned step's, which has them; then the step its own. `before`: the digest of
// the step before.
void AddDigests(const Digest128& before, StepDecided& decided);

// What NextStep() found of the documents that wait where it formed no step. It holds as
// long as only events are applied that LeavesWaiting() names.
struct KnownOfWaiting {
  struct Awaited {
    size_t stream = 0;
    uint64_t next_sequence = 0;
  };
  // Those beside the streams' buffers make no step by themselves.
  bool make_no_step = false;
  // The merge waits for this document, or for the stream's end.
  std::optional<Awaited> awaited;
};

// Documents are accepted, a stream ends, steps are made durable: whether what waits
// makes a step by itself is as before.
bool LeavesWaiting(const Event& event);

// None where there are not enough documents yet, which a server finds after most
// ingests. What is known spares the search of what waits then, which with balanced
// takes as long as a decision (docs/performance.md), and that of the buffers, in which
// the merge of many streams waits for one of them as a rule. Null: nothing, and nothing
// is to be told; else `known` is what was found, where there is no step. OUT_OF_RANGE:
// the job is drained. RESOURCE_EXHAUSTED: as many steps as may wait to be made durable
// are decided. INVALID_ARGUMENT: what sharding/plan_sharding.h refuses.
absl::StatusOr<std::optional<StepDecided>> NextStep(const JobState& state,
                                                    KnownOfWaiting* known = nullptr);

// The same, with an error in place of none: FAILED_PRECONDITION.
absl::StatusOr<StepDecided> DecideStep(const JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_STEP_FORMATION_H_
