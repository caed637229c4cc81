// A task that is done every so often, on a thread of its own.
#ifndef EVENPACK_SERVER_RUNTIME_REPEATED_TASK_H_
#define EVENPACK_SERVER_RUNTIME_REPEATED_TASK_H_

#include <chrono>
#include <functional>
#include <thread>

#include "server/runtime/mutex.h"

namespace evenpack {

// Destroy it from another thread than its own.
class RepeatedTask {
 public:
  // Does `task` when `interval` has passed since it was last done, or since now.
  RepeatedTask(std::chrono::milliseconds interval, std::function<void()> task);
  // Waits for the task where it is being done; it never is from then on.
  ~RepeatedTask();
  RepeatedTask(const RepeatedTask&) = delete;
  RepeatedTask& operator=(const RepeatedTask&) = delete;

 private:
  void Run();

  const std::chrono::milliseconds interval_;
  const std::function<void()> task_;
  Mutex mutex_;
  CondVar stopped_;
  bool stopping_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_REPEATED_TASK_H_
