// By how much a job's cost model is off, from what its trainers measured, and what to
// set its scales to.
#ifndef EVENPACK_SERVER_CONTROL_COST_CALIBRATION_H_
#define EVENPACK_SERVER_CONTROL_COST_CALIBRATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/control/first_reports.h"
#include "server/control/job_status.h"
#include "server/core/cost/cost_fit.h"
#include "server/core/cost/cost_scales.h"
#include "server/core/engine/command.h"
#include "server/core/engine/job_spec.h"
#include "server/runtime/mutex.h"
#include "server/sessions/published_step.h"

namespace evenpack {

// What a spec says of its calibration, in bytes that the engine does not read
// (JobSpec::description). Each may be null: scales of 1, set by nobody.
struct CalibrationTerms {
  std::function<CostScales(const JobSpec&)> scales_of;
  std::function<bool(const JobSpec&)> is_automatic;
  // The description with other scales.
  std::function<std::string(const JobSpec&, const CostScales&)> describe;
};

// evenpack.v1.CostCalibration.
struct CalibrationStatus {
  CostScales applied;
  std::optional<CostScales> measured;
  CostScales suggested;
  uint64_t observations = 0;
  bool separable = false;
  uint64_t calibrations = 0;
};

// Thread-safe. Observations are kept in the model's own unit, without scales, so that
// those of steps before a change of the scales count on.
class CostCalibration {
 public:
  // Of one report at most so many micro-batches count, spread evenly, so that one rank
  // which reports rarely does not displace the others.
  static constexpr size_t kMostOfReport = 64;
  // A job sets its scales by itself once so many observations have come since it last
  // did, of steps up to one so far beyond the last then.
  static constexpr uint64_t kLeastNew = 16;
  static constexpr uint64_t kStepsBetween = 8;

  explicit CostCalibration(CalibrationTerms terms) : terms_(std::move(terms)) {}

  // A micro-batch that was measured.
  struct Measured {
    std::shared_ptr<const PublishedStep> step;
    // One of the step's.
    uint32_t micro_batch = 0;
    int64_t forward_ns = 0;
  };
  // Of one report. Passed over are those of a step of an epoch that has ended, and of a
  // micro-batch that was reported before: that each process of a rank reports, or one
  // again, is no more evidence. Returns the others, in order.
  std::vector<Measured> Add(const std::vector<Measured>& measured);
  // A new epoch, that may have another model: all is forgotten.
  void Begin(uint64_t epoch);

  // Whether NextCommand may have one, cheaply.
  bool IsDue() const;
  // What sets the scales of the job, whose spec and epoch these are, where it sets them
  // by itself and the evidence, which is of that epoch, is for others. Whatever comes
  // of it, the next takes new evidence.
  std::optional<CalibrateCost> NextCommand(const std::shared_ptr<const JobSpec>& spec,
                                           uint64_t epoch);
  // It was taken.
  void CountCalibration();

  CalibrationStatus Status(const std::shared_ptr<const JobSpec>& spec) const;

 private:
  CostScales ScalesOf(const std::shared_ptr<const JobSpec>& spec) const
      EVENPACK_REQUIRES(mutex_);
  void Observe(const Measured& measured) EVENPACK_REQUIRES(mutex_);
  bool HasNewEvidence() const EVENPACK_REQUIRES(mutex_);

  const CalibrationTerms terms_;

  mutable Mutex mutex_;
  CostFit fit_ EVENPACK_GUARDED_BY(mutex_);
  FirstReports reports_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t epoch_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Of this epoch, and when a change was last considered.
  uint64_t observed_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t observed_then_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // One beyond the last step of which something was observed.
  uint64_t steps_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t steps_then_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t calibrations_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Those of the spec that was asked for last: reading a description takes its time.
  mutable std::shared_ptr<const JobSpec> read_ EVENPACK_GUARDED_BY(mutex_);
  mutable CostScales scales_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_COST_CALIBRATION_H_
