// Published steps for tests.
#ifndef EVENPACK_TESTS_SERVER_SESSIONS_MADE_STEPS_H_
#define EVENPACK_TESTS_SERVER_SESSIONS_MADE_STEPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/core/digest/digest.h"
#include "server/core/engine/job_spec.h"
#include "server/sessions/published_step.h"

namespace evenpack::testing {

using StepPointer = std::shared_ptr<const PublishedStep>;

// 2 DP ranks with 2 micro-batches each, 2 CP ranks, a window of 100 tokens, the policy
// original: a step for every 8 documents of 50 tokens.
JobSpec SmallSpec();

// Steps `first` to first + count - 1 of a job of SmallSpec(), chained from `previous`.
std::vector<StepPointer> MakeSteps(uint64_t first, uint64_t count,
                                   const Digest128& previous = GenesisDigest());

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SESSIONS_MADE_STEPS_H_
