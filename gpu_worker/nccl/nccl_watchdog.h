// Sees to it that no transfer waits for ever.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_WATCHDOG_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_WATCHDOG_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/nccl/nccl_connection.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// A transfer that the device has been given.
struct UnderWay {
  uint64_t number = 0;
  // In its stream: before and after it waits for peers.
  std::unique_ptr<CudaEvent> begun;
  std::unique_ptr<CudaEvent> done;
};

// A thread that aborts the connection where NCCL found an error
// (NcclConnection::Check), the device failed, or a transfer has waited for its peers
// for exchange_timeout: from when it is first seen to have begun, so that what the
// device has to do before counts for nothing. Thread-safe.
class NcclWatchdog {
 public:
  // `connection` must outlive it.
  NcclWatchdog(NcclConnection& connection, const NcclTiming& timing);
  ~NcclWatchdog();
  NcclWatchdog(const NcclWatchdog&) = delete;
  NcclWatchdog& operator=(const NcclWatchdog&) = delete;

  // In the order of the stream.
  void Watch(std::shared_ptr<const UnderWay> transfer);

 private:
  void Run();
  // OK, or why to abort.
  absl::Status Look();
  absl::Status LookAtFirst() EVENPACK_REQUIRES(mutex_);

  NcclConnection& connection_;
  const NcclTiming timing_;

  Mutex mutex_;
  CondVar changed_;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<const UnderWay>> under_way_ EVENPACK_GUARDED_BY(mutex_);
  // Since when the first of them waits.
  std::optional<Clock::TimePoint> since_ EVENPACK_GUARDED_BY(mutex_);

  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_WATCHDOG_H_
