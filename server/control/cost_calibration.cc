#include "server/control/cost_calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/core/document/micro_batch.h"

namespace evenpack {
namespace {

// What the table predicts of a part, without its scale.
int64_t Unscaled(int64_t ns, int64_t ppm) {
  constexpr auto kMost = static_cast<double>(WorkloadTable::kMaxStepNs);
  const double unscaled =
      static_cast<double>(ns) * CostScales::kOne / static_cast<double>(ppm);
  return static_cast<int64_t>(std::llround(std::min(unscaled, kMost)));
}

}  // namespace

CostScales CostCalibration::ScalesOf(const std::shared_ptr<const JobSpec>& spec) const {
  if (spec != read_) {
    read_ = spec;
    scales_ = terms_.scales_of == nullptr ? CostScales() : terms_.scales_of(*spec);
  }
  return scales_;
}

void CostCalibration::Observe(const Measured& measured) {
  const PublishedStep& step = *measured.step;
  const WorkloadTable& workload = step.spec->workload;
  const CostScales scales = ScalesOf(step.spec);
  const MicroBatch& micro_batch = step.step.micro_batches[measured.micro_batch];
  int64_t attention_ns = 0;
  for (const Document& document : micro_batch.documents) {
    attention_ns += workload.AttentionNs(document.length);
  }
  // The documents apart, as the planned steps of a window still have the costs of then.
  const int64_t linear_ns =
      workload.LinearNs(uint64_t{micro_batch.tokens} + micro_batch.padding);
  fit_.Add({Unscaled(attention_ns, scales.attention_ppm),
            Unscaled(linear_ns, scales.linear_ppm), measured.forward_ns});
  ++observed_;
  steps_ = std::max(steps_, step.step.index + 1);
}

std::vector<CostCalibration::Measured> CostCalibration::Add(
    const std::vector<Measured>& measured) {
  MutexLock lock(mutex_);
  std::vector<Measured> counted;
  for (const Measured& each : measured) {
    const Step& step = each.step->step;
    if (each.forward_ns > 0 && step.epoch == epoch_ &&
        reports_.Add(step.index, each.micro_batch, step.micro_batches.size())) {
      counted.push_back(each);
    }
  }
  const size_t most = std::min(counted.size(), kMostOfReport);
  for (size_t i = 0; i < most; ++i) Observe(counted[i * counted.size() / most]);
  return counted;
}

void CostCalibration::Begin(uint64_t epoch) {
  MutexLock lock(mutex_);
  epoch_ = epoch;
  fit_.Clear();
  reports_.Clear();
  observed_ = observed_then_ = 0;
  steps_ = steps_then_ = 0;
}

bool CostCalibration::HasNewEvidence() const {
  return fit_.size() >= CostFit::kLeastObservations &&
         observed_ - observed_then_ >= kLeastNew &&
         steps_ >= steps_then_ + kStepsBetween;
}

bool CostCalibration::IsDue() const {
  MutexLock lock(mutex_);
  return terms_.is_automatic != nullptr && HasNewEvidence();
}

std::optional<CalibrateCost> CostCalibration::NextCommand(
    const std::shared_ptr<const JobSpec>& spec, uint64_t epoch) {
  MutexLock lock(mutex_);
  if (epoch != epoch_ || !HasNewEvidence()) return std::nullopt;
  observed_then_ = observed_;
  steps_then_ = steps_;
  if (!terms_.is_automatic(*spec)) return std::nullopt;
  const CostScales applied = ScalesOf(spec);
  const std::optional<CostEstimate> estimate = fit_.Estimate(applied);
  if (!estimate.has_value()) return std::nullopt;
  const CostScales next = SuggestScales(*estimate, applied);
  if (next == applied) return std::nullopt;
  absl::StatusOr<WorkloadTable> table =
      Rescaled(spec->workload, applied, next, spec->micro_batches);
  // Too large for a step's sum: the job goes on as it is.
  if (!table.ok()) return std::nullopt;
  return CalibrateCost{*std::move(table), terms_.describe(*spec, next)};
}

void CostCalibration::CountCalibration() {
  MutexLock lock(mutex_);
  ++calibrations_;
}

CalibrationStatus CostCalibration::Status(
    const std::shared_ptr<const JobSpec>& spec) const {
  MutexLock lock(mutex_);
  CalibrationStatus status;
  status.applied = ScalesOf(spec);
  status.suggested = status.applied;
  status.observations = fit_.size();
  status.calibrations = calibrations_;
  const std::optional<CostEstimate> estimate = fit_.Estimate(status.applied);
  if (!estimate.has_value()) return status;
  status.measured = estimate->scales;
  status.separable = estimate->separable;
  status.suggested = SuggestScales(*estimate, status.applied);
  return status;
}

}  // namespace evenpack
