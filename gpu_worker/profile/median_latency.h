// How long something takes.
#ifndef EVENPACK_GPU_WORKER_PROFILE_MEDIAN_LATENCY_H_
#define EVENPACK_GPU_WORKER_PROFILE_MEDIAN_LATENCY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

struct Repetitions {
  // Runs before those that count.
  uint32_t warm_up = 1;
  // At least 1.
  uint32_t counted = 5;
};

// The median of the counted runs, nanoseconds; of an even number the lower of the two
// in the middle. `prepare` comes before each run and is not counted. The first error
// ends it.
absl::StatusOr<int64_t> MedianLatencyNs(const Clock& clock,
                                        const Repetitions& repetitions,
                                        absl::FunctionRef<absl::Status()> prepare,
                                        absl::FunctionRef<absl::Status()> run);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_MEDIAN_LATENCY_H_
