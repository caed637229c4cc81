// Graphs that are captured in the double's default mode, beside which no other thread
// may do what might be unsafe.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CAPTURES_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CAPTURES_H_

#include <optional>
#include <thread>
#include <utility>

#include "gpu_worker/cuda/cuda_abi.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
inline constexpr worker::cuda::Result kCaptureUnsupported = 900;
inline constexpr worker::cuda::Result kCaptureInvalidated = 901;

// Of one such capture at a time. Thread-safe.
class FakeCaptures {
 public:
  static FakeCaptures& Get() {
    static FakeCaptures captures;
    return captures;
  }
  // Of the calling thread, as the driver begins it.
  static int& ThreadsMode() {
    thread_local int mode = worker::cuda::kCaptureGlobal;
    return mode;
  }

  void Begin() {
    MutexLock lock(mutex_);
    by_ = std::this_thread::get_id();
    is_valid_ = true;
  }
  // Whether it came to nothing, if there was one.
  bool EndIsInvalid() {
    MutexLock lock(mutex_);
    by_.reset();
    return !std::exchange(is_valid_, true);
  }
  // What the calling thread is about to do may be unsafe: false, and the capture is
  // lost, where it may not.
  bool MayBeUnsafe() {
    MutexLock lock(mutex_);
    if (!by_.has_value() || *by_ == std::this_thread::get_id() ||
        ThreadsMode() != worker::cuda::kCaptureGlobal) {
      return true;
    }
    is_valid_ = false;
    return false;
  }

 private:
  Mutex mutex_;
  std::optional<std::thread::id> by_ EVENPACK_GUARDED_BY(mutex_);
  bool is_valid_ EVENPACK_GUARDED_BY(mutex_) = true;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_CAPTURES_H_
