// Points in a stream between which time is told.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_MARKS_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_MARKS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/event_pool.h"
#include "gpu_worker/device/device.h"

namespace evenpack::worker {

// Events are used again once their marks are gone: a step has thousands. Not
// thread-safe.
class CudaMarks {
 public:
  explicit CudaMarks(std::shared_ptr<const CudaContext> context);
  CudaMarks(const CudaMarks&) = delete;
  CudaMarks& operator=(const CudaMarks&) = delete;

  // After what the stream has been given. It must not outlive this.
  absl::StatusOr<std::unique_ptr<DeviceMark>> After(cuda::Stream stream);

 private:
  class Mark;

  EventPool events_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_MARKS_H_
