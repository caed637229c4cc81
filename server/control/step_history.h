// The last steps of a job as observers see them, also once they were let go.
#ifndef EVENPACK_SERVER_CONTROL_STEP_HISTORY_H_
#define EVENPACK_SERVER_CONTROL_STEP_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "server/control/job_change.h"
#include "server/core/balance/micro_batch_sizes.h"
#include "server/core/digest/digest.h"
#include "server/core/document/step.h"
#include "server/runtime/clock.h"

namespace evenpack {

// evenpack.v1.ObservedStep, field by field.
struct StepObservation {
  uint64_t index = 0;
  uint64_t epoch = 0;
  Digest128 previous_digest;
  StepKind kind = StepKind::kFullBatch;
  Clock::TimePoint decided;
  // Empty once other steps have taken their place.
  MicroBatchSizes sizes;
  // Of the last step that the policy `original` formed of what this one admitted; empty
  // and 0 where it formed none.
  MicroBatchSizes original_sizes;
  double original_imbalance = 0;
  double imbalance = 0;
  uint64_t long_document_tokens = 0;
  uint64_t documents = 0;
  WaitingCounts waiting;
};

// Holds the last kMaxSteps steps, and of the last of them the columns over
// micro-batches: at most kMaxMicroBatches of these together, which takes less than 2
// MB. Not thread-safe.
class StepHistory {
 public:
  static constexpr size_t kMaxSteps = 240;
  // As many as a step may have, so that the last step always has its columns.
  static constexpr size_t kMaxMicroBatches = 65536;

  using Steps = std::vector<std::shared_ptr<const StepObservation>>;

  // The next step, in order.
  void Add(StepObservation step);
  // Steps from `from` on are no longer true.
  void Withdraw(uint64_t from);

  // In order: the last ones, at most `most`, none before step `from`.
  Steps Last(size_t most, uint64_t from) const;

 private:
  // Leaves out the columns of the oldest step that has some.
  void ForgetColumns();

  std::deque<std::shared_ptr<const StepObservation>> steps_;
  // At the front: those without columns.
  size_t without_columns_ = 0;
  // Entries of the columns held.
  size_t micro_batches_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_STEP_HISTORY_H_
