// Submissions are complete when a CUDA device has done what it was given.
#ifndef EVENPACK_GPU_WORKER_SESSION_DEVICE_COMPLETIONS_H_
#define EVENPACK_GPU_WORKER_SESSION_DEVICE_COMPLETIONS_H_

#include <deque>
#include <memory>
#include <thread>

#include "gpu_worker/cuda/event_pool.h"
#include "gpu_worker/session/completions.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// By an event after each, for which a thread waits. Host functions in the stream would
// need no thread; but they hold the stream up, and after an error of the device none is
// called.
class DeviceCompletions final : public Completions {
 public:
  // `stream`: that in which what is executed is done. Both must outlive it.
  DeviceCompletions(SubmissionReader& reader,
                    std::shared_ptr<const CudaContext> context, cuda::Stream stream);
  // Waits for the device.
  ~DeviceCompletions() override;
  DeviceCompletions(const DeviceCompletions&) = delete;
  DeviceCompletions& operator=(const DeviceCompletions&) = delete;

  void Add(absl::Status result) override;
  void Finish() override;

 private:
  struct Executed {
    // Null: there could be none, and all that the stream has is waited for.
    std::unique_ptr<CudaEvent> done;
    absl::Status result;
  };

  void Run();

  SubmissionReader& reader_;
  const std::shared_ptr<const CudaContext> context_;
  EventPool events_;
  cuda::Stream stream_;

  Mutex mutex_;
  CondVar changed_;
  // Its first stays until it is complete.
  std::deque<Executed> executed_ EVENPACK_GUARDED_BY(mutex_);
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SESSION_DEVICE_COMPLETIONS_H_
