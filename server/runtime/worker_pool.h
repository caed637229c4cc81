// Threads that run what is handed to them.
#ifndef EVENPACK_SERVER_RUNTIME_WORKER_POOL_H_
#define EVENPACK_SERVER_RUNTIME_WORKER_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe. Tasks start in the order in which they came.
class WorkerPool {
 public:
  // At least one thread. Throws std::system_error where the system refuses one, and
  // there is none then.
  explicit WorkerPool(int threads);
  // Runs what was handed over before, then ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Also from within a task. Not after destruction has begun, but by a task.
  void Run(std::function<void()> task);

 private:
  void Work();
  void End();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ EVENPACK_GUARDED_BY(mutex_);
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // constant after construction
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_WORKER_POOL_H_
