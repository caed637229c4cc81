// Ranges of a stream's documents that no further step is to have.
#ifndef EVENPACK_SERVER_CORE_ENGINE_PASSING_OVER_H_
#define EVENPACK_SERVER_CORE_ENGINE_PASSING_OVER_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Ranges that a job's streams can have together, once those that touch are one.
inline constexpr size_t kMaxSkippedRanges = 10'000;

// INVALID_ARGUMENT: an empty range, or one past 2^64-1. NOT_FOUND: a stream that the
// job doesn't have. RESOURCE_EXHAUSTED: the job would have too many.
absl::StatusOr<std::vector<SkippedRange>> ReadRanges(
    const JobState& state, std::span<const DocumentRange> ranges);

// RESOURCE_EXHAUSTED: the job has too many, as where those of two jobs come together.
absl::Status CheckSkipped(const JobState& state);

void AddSkipped(std::span<const SkippedRange> skipped, JobState& state);

// Takes the documents of the streams' skipped ranges out of buffers and out of what
// waits. The pieces of one that was cut go too, but for those that a step had.
void PassOver(JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_PASSING_OVER_H_
