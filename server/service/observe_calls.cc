#include "server/service/observe_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/document/invalid_field.h"
#include "server/service/observation_conversion.h"

namespace evenpack {
namespace {

constexpr size_t kDefaultObservedSteps = 60;
// Of all ranks of a micro-batch: about 1 MB on the wire.
constexpr uint64_t kMaxObservedSlices = 100'000;

absl::Status CheckSlices(const PublishedStep& step, uint32_t micro_batch) {
  uint64_t slices = 0;
  for (const RankLoad& load : step.rank_loads[micro_batch]) slices += load.slices;
  if (slices <= kMaxObservedSlices) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "micro_batch: ", micro_batch, " has ", slices,
      " slices over its ranks; accepted: one that has at most ", kMaxObservedSlices));
}

}  // namespace

void Handle(const ServiceEnvironment& environment, const v1::ObserveJobRequest& request,
            v1::ObserveJobResponse& response, const Answer& answer) {
  const auto job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  ObservationRange range;
  range.steps = request.steps() == 0
                    ? kDefaultObservedSteps
                    : std::min<size_t>(request.steps(), StepHistory::kMaxSteps);
  range.from_step = request.from_step();
  (*job)->Observe(range,
                  [&response, answer](const absl::StatusOr<JobObservation>& observed) {
                    if (observed.ok()) ToProto(*observed, response);
                    answer(observed.status());
                  });
}

void Handle(const ServiceEnvironment& environment,
            const v1::ObserveMicroBatchRequest& request,
            v1::ObserveMicroBatchResponse& response, const Answer& answer) {
  const auto job = environment.jobs.Find(request.job());
  if (!job.ok()) return answer(job.status());
  const auto step = (*job)->FindStep(request.step());
  if (!step.ok()) return answer(step.status());
  const auto micro_batches = static_cast<uint32_t>((*step)->plans.size());
  absl::Status status =
      CheckRange<uint32_t>("micro_batch", request.micro_batch(), 0, micro_batches - 1);
  if (status.ok()) status = CheckSlices(**step, request.micro_batch());
  if (status.ok()) ToProto(**step, request.micro_batch(), response);
  answer(status);
}

}  // namespace evenpack
