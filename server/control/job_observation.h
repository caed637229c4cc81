// What observers are told of a job.
#ifndef EVENPACK_SERVER_CONTROL_JOB_OBSERVATION_H_
#define EVENPACK_SERVER_CONTROL_JOB_OBSERVATION_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/control/job_status.h"
#include "server/control/step_history.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/clock.h"
#include "server/sessions/subscription_table.h"

namespace evenpack {

// evenpack.v1.ObserveJobRequest.
struct ObservationRange {
  // Steps at most, the last ones.
  size_t steps = 0;
  uint64_t from_step = 0;
};

// Tokens of full steps since the server started.
struct StepTokenSums {
  uint64_t steps = 0;
  double tokens = 0;
  double squares = 0;

  void Add(uint64_t step_tokens) {
    const auto value = static_cast<double>(step_tokens);
    ++steps;
    tokens += value;
    squares += value * value;
  }
  // 0 before the first step.
  double Mean() const { return steps == 0 ? 0 : tokens / static_cast<double>(steps); }
  // Standard deviation over mean.
  double Variation() const {
    if (tokens == 0) return 0;
    const double ratio = squares * static_cast<double>(steps) / (tokens * tokens);
    return std::sqrt(std::fmax(0, ratio - 1));
  }
};

// What JobRecorder has for observers.
struct RecordedSteps {
  StepHistory::Steps steps;
  StepTokenSums full_steps;
};

struct JobObservation {
  JobStatus status;
  // Of those that the status counts.
  RecordedSteps recorded;
  JobFigures figures;
  // The slowest first.
  std::vector<SubscriberStatus> subscribers;
  Clock::TimePoint now;
};

// Subscribers that are listed.
inline constexpr size_t kMaxObservedSubscribers = 256;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_OBSERVATION_H_
