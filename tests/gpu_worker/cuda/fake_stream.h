// Streams and events of the double: a queue that a thread carries out in order, and
// points in it.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STREAM_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_abi.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// As a stream is given it.
struct FakeWork {
  std::function<void()> run;
  // Of the node that it is where the stream is captured.
  int node_type = worker::cuda::kKernelNode;
  // It may begin before what the stream was given last is complete.
  bool is_early = false;
};

// Thread-safe.
class FakeStream {
 public:
  FakeStream() : thread_([this] { Run(); }) {}
  // Carries out what it has been given.
  ~FakeStream() {
    {
      MutexLock lock(mutex_);
      ending_ = true;
    }
    changed_.SignalAll();
    thread_.join();
  }
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  void Put(std::function<void()> work) { Put(FakeWork{.run = std::move(work)}); }
  void Put(FakeWork work) {
    {
      MutexLock lock(mutex_);
      if (captured_.has_value()) {
        captured_->push_back(std::move(work));
        return;
      }
      work_.push_back(std::move(work.run));
      ++given_;
    }
    changed_.SignalAll();
  }
  // What it is given from now on is kept and not done. False: it is so already.
  bool BeginCapture() {
    MutexLock lock(mutex_);
    if (captured_.has_value()) return false;
    captured_.emplace();
    return true;
  }
  // What it was given since then; nothing where it was not captured.
  std::optional<std::vector<FakeWork>> EndCapture() {
    MutexLock lock(mutex_);
    return std::exchange(captured_, std::nullopt);
  }
  bool IsCaptured() {
    MutexLock lock(mutex_);
    return captured_.has_value();
  }
  void Synchronize() {
    MutexLock lock(mutex_);
    const uint64_t given = given_;
    while (done_ < given) changed_.Wait(mutex_);
  }

 private:
  void Run() {
    for (;;) {
      std::function<void()> work;
      {
        MutexLock lock(mutex_);
        while (work_.empty() && !ending_) changed_.Wait(mutex_);
        if (work_.empty()) return;
        work = std::move(work_.front());
        work_.pop_front();
      }
      work();
      {
        MutexLock lock(mutex_);
        ++done_;
      }
      changed_.SignalAll();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<std::vector<FakeWork>> captured_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t given_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t done_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, since it uses the others
};

// A point in a stream, which an event is recorded at; those that wait for it share it,
// since the event may be recorded anew or destroyed meanwhile. Thread-safe.
class FakePoint {
 public:
  // At that time of the device's.
  void Reach(uint64_t nanoseconds) {
    {
      MutexLock lock(mutex_);
      is_reached_ = true;
      reached_at_ = nanoseconds;
    }
    changed_.SignalAll();
  }
  uint64_t reached_at() {
    MutexLock lock(mutex_);
    return reached_at_;
  }
  bool IsReached() {
    MutexLock lock(mutex_);
    return is_reached_;
  }
  void Await() {
    MutexLock lock(mutex_);
    while (!is_reached_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool is_reached_ EVENPACK_GUARDED_BY(mutex_) = false;
  uint64_t reached_at_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_STREAM_H_
