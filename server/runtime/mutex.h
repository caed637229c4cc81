// The one mutex of everything outside the core, known to clang's thread-safety
// analysis.
//
//   Mutex mutex_;
//   int count_ EVENPACK_GUARDED_BY(mutex_) = 0;
//   ...
//   MutexLock lock(mutex_);
//   ++count_;
//
// std::mutex rather than absl::Mutex: the thread sanitizer understands it whole.
#ifndef EVENPACK_SERVER_RUNTIME_MUTEX_H_
#define EVENPACK_SERVER_RUNTIME_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define EVENPACK_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define EVENPACK_THREAD_ANNOTATION(x)
#endif
#define EVENPACK_GUARDED_BY(x) EVENPACK_THREAD_ANNOTATION(guarded_by(x))
#define EVENPACK_REQUIRES(...) \
  EVENPACK_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EVENPACK_EXCLUDES(...) EVENPACK_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace evenpack {

class EVENPACK_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() EVENPACK_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() EVENPACK_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class EVENPACK_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) EVENPACK_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() EVENPACK_THREAD_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits as std::condition_variable does: in a loop that looks at what was waited for.
class CondVar {
 public:
  void Wait(Mutex& mutex) EVENPACK_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Also returns when the time has passed.
  void WaitFor(Mutex& mutex, std::chrono::nanoseconds time) EVENPACK_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, time);
    lock.release();
  }
  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_MUTEX_H_
