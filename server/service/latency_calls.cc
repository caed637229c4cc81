#include "server/service/latency_calls.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/document/invalid_field.h"
#include "server/service/field_path.h"

namespace evenpack {
namespace {

constexpr int kMaxReported = 65536;
constexpr uint32_t kMaxPasses = 65536;
constexpr int64_t kMaxAttentionNs = int64_t{1} << 50;
// Of one report: sums of any number of reports stay finite, and counters below 2^64.
constexpr double kMaxWaitSeconds = 1e9;
constexpr uint64_t kMaxStepsTaken = uint64_t{1} << 32;
constexpr size_t kDefaultSteps = 8;
constexpr size_t kDefaultRanks = 64;
constexpr size_t kMaxRanks = 1024;

using JobPointer = std::shared_ptr<Job>;

absl::StatusOr<MeasuredAttention> ReadAttention(const v1::AttentionLatency& from) {
  absl::Status status =
      CheckRange("forward_passes", from.forward_passes(), 0, kMaxPasses);
  status.Update(CheckRange("backward_passes", from.backward_passes(), 0, kMaxPasses));
  status.Update(CheckRange("forward_ns", from.forward_ns(), 0, kMaxAttentionNs));
  status.Update(CheckRange("backward_ns", from.backward_ns(), 0, kMaxAttentionNs));
  status.Update(CheckRange("waited_ns", from.waited_ns(), 0, kMaxAttentionNs));
  if (!status.ok()) return status;
  return MeasuredAttention{from.forward_passes(), from.backward_passes(),
                           from.forward_ns(), from.backward_ns(), from.waited_ns()};
}

absl::StatusOr<LatencyReport> Read(const v1::ReportLatencyRequest& request) {
  if (request.micro_batches_size() > kMaxReported) {
    return InvalidField("micro_batches",
                        absl::StrCat(request.micro_batches_size(), " entries"),
                        absl::StrCat("at most ", kMaxReported));
  }
  const double wait = request.step_wait_seconds();
  if (!(wait >= 0 && wait <= kMaxWaitSeconds)) {
    return InvalidField("step_wait_seconds", wait, "0 to 1e9 seconds");
  }
  absl::Status status =
      CheckRange("steps_taken", request.steps_taken(), 0, kMaxStepsTaken);
  if (!status.ok()) return status;
  LatencyReport report;
  report.dp_rank = request.dp_rank();
  if (request.has_cp_rank()) report.cp_rank = request.cp_rank();
  report.step_wait_seconds = wait;
  report.steps_taken = request.steps_taken();
  for (int i = 0; i < request.micro_batches_size(); ++i) {
    const v1::MicroBatchLatency& measured = request.micro_batches(i);
    const bool forward = measured.forward_ns() < 0;
    if (forward || measured.backward_ns() < 0) {
      return InvalidField(absl::StrCat("micro_batches[", i, "].",
                                       forward ? "forward_ns" : "backward_ns"),
                          forward ? measured.forward_ns() : measured.backward_ns(),
                          "0 or more nanoseconds");
    }
    report.micro_batches.push_back({measured.step(), measured.micro_batch(),
                                    measured.forward_ns(), measured.backward_ns()});
    if (!measured.has_attention()) continue;
    const absl::StatusOr<MeasuredAttention> attention =
        ReadAttention(measured.attention());
    if (!attention.ok()) {
      return Under(absl::StrCat("micro_batches[", i, "].attention"),
                   attention.status());
    }
    if (!request.has_cp_rank()) {
      return InvalidField("cp_rank", "not set, with attention of a micro-batch, which",
                          "0 to CP - 1");
    }
    report.micro_batches.back().attention = *attention;
  }
  return report;
}

void ToProto(const StepExcess& from, uint32_t context_parallel, v1::StepExcess& to) {
  to.set_step_ns(from.step_ns);
  to.set_even_ns(from.even_ns);
  to.set_packing_ns(from.packing_ns);
  to.set_cp_sharding_ns(from.cp_sharding_ns);
  to.set_communication_ns(from.communication_ns);
  to.set_machine_ns(from.machine_ns);
  to.set_scale(static_cast<double>(from.scale.computed_ns) /
               static_cast<double>(from.scale.predicted_ns));
  if (from.late_ns == 0) return;
  v1::LateRank& latest = *to.mutable_latest();
  latest.set_dp_rank(static_cast<uint32_t>(from.latest_rank / context_parallel));
  latest.set_cp_rank(static_cast<uint32_t>(from.latest_rank % context_parallel));
  latest.set_late_ns(from.late_ns);
}

// Beyond the scaled prediction; 0 where there is no scale.
int64_t LateNs(const StepLatency& step, const RankLatency& rank) {
  if (!step.excess.has_value()) return 0;
  return rank.forward_ns + rank.backward_ns -
         step.excess->scale.Of(rank.predicted_forward_ns);
}

// The latest first, at most so many.
std::vector<size_t> LatestRanks(const StepLatency& step, size_t most) {
  std::vector<size_t> ranks(step.ranks.size());
  std::iota(ranks.begin(), ranks.end(), size_t{0});
  std::stable_sort(ranks.begin(), ranks.end(), [&step](size_t a, size_t b) {
    return LateNs(step, step.ranks[a]) > LateNs(step, step.ranks[b]);
  });
  ranks.resize(std::min(ranks.size(), most));
  return ranks;
}

void ToProto(const StepLatency& from, size_t ranks, v1::StepLatency& to) {
  to.set_step(from.step);
  to.set_ranks(from.ranks.size());
  to.set_ranks_reported(from.ranks_reported);
  if (from.excess.has_value()) {
    ToProto(*from.excess, from.context_parallel, *to.mutable_excess());
  }
  for (const size_t index : LatestRanks(from, ranks)) {
    const RankLatency& rank = from.ranks[index];
    v1::RankLatency& told = *to.add_rank_latencies();
    told.set_dp_rank(static_cast<uint32_t>(index / from.context_parallel));
    told.set_cp_rank(static_cast<uint32_t>(index % from.context_parallel));
    told.set_predicted_forward_ns(rank.predicted_forward_ns);
    told.set_forward_ns(rank.forward_ns);
    told.set_backward_ns(rank.backward_ns);
    told.set_waited_ns(rank.waited_ns);
    told.set_late_ns(LateNs(from, rank));
  }
}

void ToProto(const CostScales& from, v1::CostScales& to) {
  constexpr double kOne = CostScales::kOne;
  to.set_attention(static_cast<double>(from.attention_ppm) / kOne);
  to.set_linear(static_cast<double>(from.linear_ppm) / kOne);
}

void ToProto(const CalibrationStatus& from, v1::CostCalibration& to) {
  ToProto(from.applied, *to.mutable_applied());
  if (from.measured.has_value()) ToProto(*from.measured, *to.mutable_measured());
  ToProto(from.suggested, *to.mutable_suggested());
  to.set_observations(from.observations);
  to.set_separable(from.separable);
  to.set_calibrations(from.calibrations);
}

// What 0 means, and no more than `most`.
size_t Bounded(uint32_t asked, size_t fallback, size_t most) {
  return asked == 0 ? fallback : std::min<size_t>(asked, most);
}

}  // namespace

void Handle(const ServiceEnvironment& environment,
            const v1::ReportLatencyRequest& request,
            v1::ReportLatencyResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  const absl::StatusOr<LatencyReport> report = Read(request);
  if (!report.ok()) return answer(report.status());
  const auto predicted = (*job)->ReportLatency(*report);
  if (predicted.ok()) {
    response.mutable_predicted_forward_ns()->Add(predicted->begin(), predicted->end());
  }
  answer(predicted.status());
}

void Handle(const ServiceEnvironment& environment, const v1::GetLatencyRequest& request,
            v1::GetLatencyResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  const auto steps = (*job)->Latency(
      Bounded(request.steps(), kDefaultSteps, LatencyWindow::kMaxSteps));
  if (!steps.ok()) return answer(steps.status());
  const size_t ranks = Bounded(request.ranks(), kDefaultRanks, kMaxRanks);
  for (const StepLatency& step : *steps) ToProto(step, ranks, *response.add_steps());
  const absl::StatusOr<CalibrationStatus> calibration = (*job)->Calibration();
  if (!calibration.ok()) return answer(calibration.status());
  ToProto(*calibration, *response.mutable_calibration());
  answer(absl::OkStatus());
}

}  // namespace evenpack
