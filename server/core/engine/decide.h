// Decide: the pure half of the state machine that says what a command leads to.
//
//   absl::StatusOr<Event> event = Decide(state, command);
//   if (event.ok()) Apply(*std::move(event), state);
//
// Reads the state, changes nothing, and depends on nothing else: the same state and
// command give the same event on any machine. A refused command leaves no trace.
#ifndef EVENPACK_SERVER_CORE_ENGINE_DECIDE_H_
#define EVENPACK_SERVER_CORE_ENGINE_DECIDE_H_

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Errors, each naming the field, its value and what would be accepted:
//   INVALID_ARGUMENT     a value out of its range (a length, a spec's field); an update
//                        of the streams or the merge
//   NOT_FOUND            the job was not created; a stream that it doesn't have
//   ALREADY_EXISTS       CreateJob or RestoreJob on a job
//   DATA_LOSS            a checkpoint that is damaged
//   OUT_OF_RANGE         a gap in sequence numbers; a step or rank that there isn't;
//                        FormStep on a drained job
//   ABORTED              other content under sequence numbers accepted before; a mark
//                        for a step that was withdrawn and formed anew
//   FAILED_PRECONDITION  documents after a stream's end; FormStep without enough
//                        documents; an update or a rewind that a document which waits
//                        doesn't fit; a checkpoint of another format or other streams
//   RESOURCE_EXHAUSTED   FormStep with max_steps_ahead steps not durable; too many
//                        skipped ranges
absl::StatusOr<Event> Decide(const JobState& state, const Command& command);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_DECIDE_H_
