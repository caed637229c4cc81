// Whether the next step admits documents, and how many: step formation, backlog limit
// and delay bound of docs/adr/0008.
#ifndef EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_
#define EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_

#include <cstddef>
#include <cstdint>

#include "server/core/engine/job_spec.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Documents of global batches before this one are due: with `batches` admitted so far,
// they would wait longer than max_delay if another window were admitted before they go.
// 0 without a bound.
uint64_t DueBeforeBatch(const JobSpec& spec, uint64_t batches);

// Tokens that the next window admits. Fixed-length policies emit at most N x L a step,
// so for them what was left over counts.
uint64_t AdmissionTarget(const JobState& state);

// True for a backlog-only step: a waiting document is due, kWlb or kBalanced holds more
// than its backlog limit, or what was left over fills a window.
bool AdmitsNothing(const JobState& state);

// True where the stream's documents that no step has admitted reached one of the spec's
// buffer limits: a server then reads no more of them. O(1).
//
// This stops no job: while every stream that has not ended is full, and there is such a
// one, a step can be formed unless max_steps_ahead forbids it. A full stream alone
// holds WindowTokens() tokens (as documents too, since each has a token), which is as
// much as any step admits. So the merge, whatever its weights, has admitted enough
// before it comes to the end of a full stream's buffer, and for an ended stream it
// never waits.
bool BufferIsFull(const JobState& state, size_t stream);

// Tokens accepted and not yet admitted.
uint64_t BufferedTokens(const JobState& state);

// True where the buffers can't hold `target` tokens and more may come. Reads no
// document, since a server asks after every ingest.
bool MustWait(const JobState& state, uint64_t target);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_
