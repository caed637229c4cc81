// The part of Job that has what trainers and workers report.
#include <memory>
#include <optional>
#include <vector>

#include "server/control/job.h"

namespace evenpack {

absl::StatusOr<std::vector<int64_t>> Job::ReportLatency(const LatencyReport& report) {
  const auto steps = shown_.StepsOf(report);
  if (absl::IsNotFound(steps.status())) return WhyNotShown();
  if (!steps.ok()) return steps.status();
  std::vector<int64_t> predicted;
  std::vector<CostCalibration::Measured> whole;
  for (size_t i = 0; i < steps->size(); ++i) {
    const MeasuredMicroBatch& measured = report.micro_batches[i];
    const std::shared_ptr<const PublishedStep>& step = (*steps)[i];
    const bool of_a_rank = measured.attention.has_value() && report.cp_rank.has_value();
    if (step == nullptr) {
      predicted.push_back(0);
      if (of_a_rank) {
        latency_.AddLate(measured.step, report.dp_rank, *report.cp_rank,
                         measured.micro_batch, *measured.attention);
      }
      continue;
    }
    predicted.push_back(step->step.micro_batches[measured.micro_batch].workload_ns);
    if (measured.forward_ns == 0 && !measured.attention.has_value()) continue;
    whole.push_back({step, measured.micro_batch, measured.forward_ns});
    if (!of_a_rank) continue;
    latency_.Add(*step, report.dp_rank, *report.cp_rank, measured.micro_batch,
                 *measured.attention);
  }
  recorder_.Add(report, calibration_.Add(whole));
  if (calibration_.IsDue()) Calibrate();
  return predicted;
}

void Job::Calibrate() {
  {
    MutexLock lock(mutex_);
    if (!CheckShown().ok()) return;
    const std::optional<CalibrateCost> command =
        calibration_.NextCommand(spec_, state_.epoch);
    if (!command.has_value()) return;
    CommitEntry entry = NewEntry();
    Done done = [self = shared_from_this()](const absl::Status& status) {
      if (status.ok()) self->calibration_.CountCalibration();
    };
    if (!Take(*command, entry, done).ok()) return;
  }
  Flush();
}

absl::StatusOr<CalibrationStatus> Job::Calibration() {
  const auto spec = shown_.spec();
  if (spec == nullptr) return WhyNotShown();
  return calibration_.Status(spec);
}

absl::StatusOr<std::vector<StepLatency>> Job::Latency(size_t most) {
  if (!shown_.IsShown()) return WhyNotShown();
  return latency_.Steps(most);
}

absl::Status Job::WhyNotShown() {
  MutexLock lock(mutex_);
  const absl::Status status = CheckShown();
  // It is by now.
  return status.ok() ? JobNotFound(name_) : status;
}

}  // namespace evenpack
