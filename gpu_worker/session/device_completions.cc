#include "gpu_worker/session/device_completions.h"

#include <utility>

namespace evenpack::worker {

DeviceCompletions::DeviceCompletions(SubmissionReader& reader,
                                     std::shared_ptr<const CudaContext> context,
                                     cuda::Stream stream)
    : reader_(reader),
      context_(std::move(context)),
      events_(context_, CudaEvent::Use::kSleepingAwait),
      stream_(stream),
      thread_([this] { Run(); }) {}

DeviceCompletions::~DeviceCompletions() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

void DeviceCompletions::Add(absl::Status result) {
  Executed executed;
  executed.result = std::move(result);
  absl::StatusOr<std::unique_ptr<CudaEvent>> done = events_.Recorded(stream_);
  if (done.ok()) {
    executed.done = *std::move(done);
  } else {
    executed.result.Update(done.status());
  }
  MutexLock lock(mutex_);
  executed_.push_back(std::move(executed));
  changed_.SignalAll();
}

void DeviceCompletions::Finish() {
  MutexLock lock(mutex_);
  while (!executed_.empty()) changed_.Wait(mutex_);
}

void DeviceCompletions::Run() {
  for (;;) {
    Executed* first = nullptr;
    {
      MutexLock lock(mutex_);
      while (executed_.empty() && !ending_) changed_.Wait(mutex_);
      if (executed_.empty()) return;
      first = &executed_.front();
    }
    // References to a deque's elements outlive what is added behind them.
    first->result.Update(first->done != nullptr ? first->done->Await()
                                                : Synchronize(*context_, stream_));
    reader_.Complete(first->result);
    if (first->done != nullptr) events_.GiveBack(std::move(first->done));
    MutexLock lock(mutex_);
    executed_.pop_front();
    changed_.SignalAll();
  }
}

}  // namespace evenpack::worker
