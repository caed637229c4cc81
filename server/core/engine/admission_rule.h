// Whether the next step admits documents, and how many: step formation, backlog limit
// and delay bound of docs/adr/0008.
#ifndef EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_
#define EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_

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

// True for a backlog-only step: a waiting document is due, kWlb holds more than its
// backlog limit, or what was left over fills a window.
bool AdmitsNothing(const JobState& state);

// Tokens accepted and not yet admitted.
uint64_t BufferedTokens(const JobState& state);

// True where the buffers can't hold `target` tokens and more may come. Reads no
// document, since a server asks after every ingest.
bool MustWait(const JobState& state, uint64_t target);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_ADMISSION_RULE_H_
