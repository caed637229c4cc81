// A rank's options, where it computes on the processor or on a CUDA device.
#ifndef EVENPACK_GPU_WORKER_RANK_WORKER_COMPUTED_ON_H_
#define EVENPACK_GPU_WORKER_RANK_WORKER_COMPUTED_ON_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/endpoint.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rank_worker/rank_worker.h"

namespace evenpack::worker {

// `options` with the form's memory and its way to the peers. The form must outlive the
// rank, which is started with its engine. Errors of RankForm::Endpoints.
inline absl::StatusOr<RankWorkerOptions> ComputedOn(RankForm& form,
                                                    RankWorkerOptions options) {
  absl::StatusOr<OpenEndpointOf> endpoints = form.Endpoints();
  if (!endpoints.ok()) return endpoints.status();
  options.endpoints = *std::move(endpoints);
  options.executor.device = &form.device();
  options.executor.least_group_bytes = form.least_group_bytes();
  return options;
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RANK_WORKER_COMPUTED_ON_H_
