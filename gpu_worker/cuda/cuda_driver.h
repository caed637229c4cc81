// The CUDA driver, found when the program runs.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_DRIVER_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_DRIVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/cuda/cuda_abi.h"

namespace evenpack::worker {

// The oldest version of CUDA whose driver has all that is used, as it counts them, but
// for what graphs take: kernels' parameters beyond 4 KiB (row_kernel_arguments.h). And
// the oldest that has what graphs take too.
inline constexpr int kOldestCudaDriver = 12010;
inline constexpr int kOldestDriverOfGraphs = 12030;

// Thread-safe.
class CudaDriver {
 public:
  // `path`: empty: what EVENPACK_CUDA_DRIVER names, or libcuda.so.1.
  // FAILED_PRECONDITION: there is none, it is older than kOldestCudaDriver, it lacks a
  // function of its version, or it finds no device.
  static absl::StatusOr<std::shared_ptr<const CudaDriver>> Load(
      const std::string& path = "");

  // Those of a graph's edges are null before kOldestDriverOfGraphs.
  const cuda::Functions& functions() const { return functions_; }
  int version() const { return version_; }

  // OK, or INTERNAL with the driver's name for the error (RESOURCE_EXHAUSTED where
  // memory ran out). `what` was not done: "to copy rows".
  absl::Status Check(cuda::Result result, absl::string_view what) const;

 private:
  CudaDriver() = default;

  absl::Status Begin(const std::string& path);

  cuda::Functions functions_;
  int version_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_DRIVER_H_
