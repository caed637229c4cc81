// Where cuDNN's frontend wasn't found when it was built.
#include "gpu_worker/cudnn/cudnn_planner.h"

namespace evenpack::worker {
namespace {

absl::Status None() {
  return absl::FailedPreconditionError(
      "this program has no attention for a CUDA device; accepted: one that is built "
      "where CMake finds the headers of cuDNN and its frontend");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AttentionPlanner>> OpenCudnn(
    std::shared_ptr<const CudaContext> /*context*/, const std::string& /*path*/) {
  return None();
}

absl::Status CheckCudnnPlan(const PlanShape& /*shape*/,
                            const std::string& /*properties*/,
                            const std::string& /*path*/) {
  return None();
}

absl::StatusOr<CudnnMemory> CudnnWorkspace(const PlanShape& /*shape*/,
                                           const std::string& /*properties*/,
                                           const std::string& /*path*/) {
  return None();
}

absl::Status CheckCudnnShape(const AttentionShape& /*shape*/,
                             const std::string& /*properties*/,
                             const std::string& /*path*/) {
  return None();
}

absl::StatusOr<std::string> CudnnDeviceProperties(
    std::shared_ptr<const CudaContext> /*context*/, const std::string& /*path*/) {
  return None();
}

}  // namespace evenpack::worker
