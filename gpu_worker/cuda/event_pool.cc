#include "gpu_worker/cuda/event_pool.h"

namespace evenpack::worker {

absl::StatusOr<std::unique_ptr<CudaEvent>> EventPool::Take() {
  {
    MutexLock lock(mutex_);
    if (!unused_.empty()) {
      std::unique_ptr<CudaEvent> event = std::move(unused_.back());
      unused_.pop_back();
      return event;
    }
  }
  return CudaEvent::Create(context_, use_);
}

absl::StatusOr<std::unique_ptr<CudaEvent>> EventPool::Recorded(cuda::Stream stream) {
  absl::StatusOr<std::unique_ptr<CudaEvent>> event = Take();
  if (!event.ok()) return event.status();
  if (absl::Status status = (*event)->Record(stream); !status.ok()) {
    GiveBack(*std::move(event));
    return status;
  }
  return event;
}

void EventPool::GiveBack(std::unique_ptr<CudaEvent> event) {
  MutexLock lock(mutex_);
  unused_.push_back(std::move(event));
}

}  // namespace evenpack::worker
