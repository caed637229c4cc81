#include "gpu_worker/attention/thread_team.h"

namespace evenpack::worker {

ThreadTeam::ThreadTeam(size_t threads) {
  try {
    for (size_t thread = 1; thread < threads; ++thread) {
      threads_.emplace_back([this, thread] { Work(thread); });
    }
  } catch (...) {
    End();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { End(); }

void ThreadTeam::End() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Loop(size_t count, Body body) {
  next_ = 0;
  {
    MutexLock lock(mutex_);
    body_ = &body;
    count_ = count;
    working_ = threads_.size();
    ++loop_;
  }
  changed_.SignalAll();
  Take(body, count, 0);
  MutexLock lock(mutex_);
  while (working_ > 0) changed_.Wait(mutex_);
}

void ThreadTeam::Take(const Body& body, size_t count, size_t thread) {
  for (size_t i = next_++; i < count; i = next_++) body(i, thread);
}

void ThreadTeam::Work(size_t thread) {
  uint64_t seen = 0;
  while (true) {
    const Body* body = nullptr;
    size_t count = 0;
    {
      MutexLock lock(mutex_);
      while (loop_ == seen && !ending_) changed_.Wait(mutex_);
      if (loop_ == seen) return;
      seen = loop_;
      body = body_;
      count = count_;
    }
    Take(*body, count, thread);
    MutexLock lock(mutex_);
    if (--working_ == 0) changed_.SignalAll();
  }
}

}  // namespace evenpack::worker
