// Attention kernels of cuDNN, which is found when the program runs.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CUDNN_PLANNER_H_
#define EVENPACK_GPU_WORKER_CUDNN_CUDNN_PLANNER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

// For a device of this process. `path`: empty: what EVENPACK_CUDNN names, or
// libcudnn.so.9; the process has one cuDNN, the first that was found.
// FAILED_PRECONDITION: there is none, it is older than 9.18, or the program was built
// without its headers. INTERNAL: it can't use the device.
absl::StatusOr<std::unique_ptr<AttentionPlanner>> OpenCudnn(
    std::shared_ptr<const CudaContext> context, const std::string& path = "");

// Builds a plan for a device that isn't there: `properties` are JSON as cuDNN describes
// one. Errors as AttentionPlanner::Build and OpenCudnn. INVALID_ARGUMENT: `properties`.
absl::Status CheckCudnnPlan(const PlanShape& shape, const std::string& properties,
                            const std::string& path = "");

// What a run takes beside its tensors, in bytes, one behind the other.
struct CudnnMemory {
  // Are left free, so that cuDNN's own begin aligned.
  size_t free = 0;
  size_t frontend = 0;
  size_t own = 0;

  size_t bytes() const { return free + frontend + own; }
};
// Of such a plan. Errors as CheckCudnnPlan.
absl::StatusOr<CudnnMemory> CudnnWorkspace(const PlanShape& shape,
                                           const std::string& properties,
                                           const std::string& path = "");

// Of such a device, what its planner's CheckShape says. Errors as CheckCudnnPlan.
absl::Status CheckCudnnShape(const AttentionShape& shape, const std::string& properties,
                             const std::string& path = "");

// What these take, of the device.
absl::StatusOr<std::string> CudnnDeviceProperties(
    std::shared_ptr<const CudaContext> context, const std::string& path = "");

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CUDNN_PLANNER_H_
