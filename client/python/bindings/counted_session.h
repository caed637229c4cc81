// A session with the calls that are made of it, and its one end.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_COUNTED_SESSION_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_COUNTED_SESSION_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "server/runtime/mutex.h"

namespace evenpack::python {

// Thread-safe, but for Release(). No lock is held while the session is cancelled or
// destroyed.
template <typename Session>
class CountedSession {
 public:
  explicit CountedSession(std::unique_ptr<Session> session)
      : session_(std::move(session)) {}

  // The session, which stays until EndCall(). None where it ends, or was taken.
  Session* BeginCall() {
    MutexLock lock(mutex_);
    if (session_ != nullptr) ++calls_;
    return session_.get();
  }
  void EndCall() {
    MutexLock lock(mutex_);
    --calls_;
    changed_.SignalAll();
  }

  // Cancels the calls that are under way, waits until they have returned, and destroys
  // the session. Of several threads each returns when it is gone. Not within a call.
  void End() {
    std::unique_ptr<Session> last;
    bool is_called = false;
    {
      MutexLock lock(mutex_);
      while (ending_) changed_.Wait(mutex_);
      if (session_ == nullptr) return;
      ending_ = true;
      is_called = calls_ > 0;
      last = std::move(session_);
    }
    if (is_called) last->Cancel();
    AwaitCalls();
    last.reset();
    MutexLock lock(mutex_);
    ending_ = false;
    changed_.SignalAll();
  }

  // For another holder; none as for BeginCall(). No call is under way.
  std::unique_ptr<Session> Take() {
    MutexLock lock(mutex_);
    return std::move(session_);
  }
  // Where no other thread is: of a fork one may have had the lock.
  Session* Release() EVENPACK_THREAD_ANNOTATION(no_thread_safety_analysis) {
    return session_.release();
  }

 private:
  void AwaitCalls() {
    MutexLock lock(mutex_);
    while (calls_ > 0) changed_.Wait(mutex_);
  }

  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<Session> session_ EVENPACK_GUARDED_BY(mutex_);
  size_t calls_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_COUNTED_SESSION_H_
