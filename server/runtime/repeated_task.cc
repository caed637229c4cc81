#include "server/runtime/repeated_task.h"

#include <utility>

namespace evenpack {

RepeatedTask::RepeatedTask(std::chrono::milliseconds interval,
                           std::function<void()> task)
    : interval_(interval), task_(std::move(task)), thread_([this] { Run(); }) {}

RepeatedTask::~RepeatedTask() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    stopped_.SignalAll();
  }
  thread_.join();
}

void RepeatedTask::Run() {
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + interval_;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && std::chrono::steady_clock::now() < next) {
        stopped_.WaitFor(mutex_, next - std::chrono::steady_clock::now());
      }
      if (stopping_) return;
    }
    task_();
  }
}

}  // namespace evenpack
