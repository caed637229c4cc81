// Threads that share the iterations of a loop.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_THREAD_TEAM_H_
#define EVENPACK_GPU_WORKER_ATTENTION_THREAD_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Not thread-safe: one loop at a time.
class ThreadTeam {
 public:
  // Threads that work on a loop, that of the caller among them; at least 1. Throws
  // std::system_error where the system refuses one, and there is none then.
  explicit ThreadTeam(size_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return threads_.size() + 1; }

  // Runs body(i, thread) for each i from 0 to count - 1 in any order, thread below
  // size(), and returns when all are done. What is large should come first.
  using Body = absl::FunctionRef<void(size_t index, size_t thread)>;
  void Loop(size_t count, Body body);

 private:
  void Work(size_t thread);
  void End();
  void Take(const Body& body, size_t count, size_t thread);

  std::atomic<size_t> next_ = 0;

  Mutex mutex_;
  CondVar changed_;
  // Of the loop under way; its number tells a thread whether it has seen it.
  const Body* body_ EVENPACK_GUARDED_BY(mutex_) = nullptr;
  size_t count_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t loop_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t working_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;  // last, since they use the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_THREAD_TEAM_H_
