// A rank that computes on a CUDA device of this process.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CUDA_RANK_H_
#define EVENPACK_GPU_WORKER_CUDNN_CUDA_RANK_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_device.h"
#include "gpu_worker/cuda/device_group.h"
#include "gpu_worker/cudnn/cudnn_attention.h"
#include "gpu_worker/cudnn/cudnn_planner.h"

namespace evenpack::worker {

struct CudaRankOptions {
  // Of the device, among those that the process sees.
  int device = 0;
  // Bytes of it that may be in use at once, beside what the trainer has.
  size_t budget = size_t{16} << 30;
  CudnnOptions attention = {};
  // As CudaDriver::Load has it.
  std::string driver = {};
  std::function<absl::StatusOr<std::unique_ptr<AttentionPlanner>>(
      std::shared_ptr<const CudaContext>)>
      open_planner = [](std::shared_ptr<const CudaContext> context) {
        return OpenCudnn(std::move(context));
      };
  std::span<const unsigned char> kernels = RowKernelImage();
};

// All that an executor needs: a stream to compute in, memory, and an engine. Several of
// one device are ranks of a DeviceGroup. Not thread-safe.
class CudaRank {
 public:
  // FAILED_PRECONDITION: there is no driver, no cuDNN, or the program was built without
  // one of them. Errors of the device.
  static absl::StatusOr<std::unique_ptr<CudaRank>> Open(const CudaRankOptions& options);
  CudaRank(const CudaRank&) = delete;
  CudaRank& operator=(const CudaRank&) = delete;

  const CudaWorkplace& where() const { return where_; }
  CudaDevice& device() { return *device_; }
  CudnnAttention& engine() { return *engine_; }

  // The trainer's stream: calls from now on come after what it has been given, and what
  // it is given from now on after the calls so far. Nothing waits on the host.
  absl::Status After(cuda::Stream stream);
  absl::Status Before(cuda::Stream stream);

 private:
  explicit CudaRank(std::shared_ptr<const CudaContext> context)
      : order_(std::move(context)) {}

  StreamOrder order_;
  std::unique_ptr<CudaStream> compute_;
  CudaWorkplace where_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<CudnnAttention> engine_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CUDA_RANK_H_
