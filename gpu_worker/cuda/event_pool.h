// Events that are used again.
#ifndef EVENPACK_GPU_WORKER_CUDA_EVENT_POOL_H_
#define EVENPACK_GPU_WORKER_CUDA_EVENT_POOL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Thread-safe.
class EventPool {
 public:
  EventPool(std::shared_ptr<const CudaContext> context, CudaEvent::Use use)
      : context_(std::move(context)), use_(use) {}

  // One to record; a new one only where none was given back. RESOURCE_EXHAUSTED: the
  // device has no memory for one.
  absl::StatusOr<std::unique_ptr<CudaEvent>> Take();
  // One at what the stream has been given.
  absl::StatusOr<std::unique_ptr<CudaEvent>> Recorded(cuda::Stream stream);
  // It may be recorded anew from now on.
  void GiveBack(std::unique_ptr<CudaEvent> event);

 private:
  const std::shared_ptr<const CudaContext> context_;
  const CudaEvent::Use use_;
  Mutex mutex_;
  std::vector<std::unique_ptr<CudaEvent>> unused_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_EVENT_POOL_H_
