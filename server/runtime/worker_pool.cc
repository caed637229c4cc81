#include "server/runtime/worker_pool.h"

#include <algorithm>
#include <utility>

namespace evenpack {

WorkerPool::WorkerPool(int threads) {
  try {
    for (int i = 0; i < std::max(1, threads); ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (...) {
    End();
    throw;
  }
}

WorkerPool::~WorkerPool() { End(); }

void WorkerPool::End() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.Signal();
}

void WorkerPool::Work() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !ending_) changed_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace evenpack
