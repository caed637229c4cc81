// What has threads that call into Python, as Python holds it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "client/python/bindings/ending_threads.h"
#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/status_error.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {

// It calls into Python with locks of its own held, so that
// whoever calls it must not have the interpreter's.
template <typename Session>
class HeldSession {
 public:
  explicit HeldSession(std::unique_ptr<Session> session)
      : session_(std::move(session)) {}
  // Under the interpreter's lock, in any thread: ends it in another.
  ~HeldSession() {
    if (session_ == nullptr) return;
    Session* session = session_.release();
    // A fork has none of its threads: there is nothing that could be waited for.
    if (getpid() != process_) return;
    EndInThread([session] { const std::unique_ptr<Session> last(session); });
  }
  HeldSession(const HeldSession&) = delete;
  HeldSession& operator=(const HeldSession&) = delete;

  // Ends the calls that are under way in other threads, and waits until no thread of
  // the session calls into Python any more; the interpreter must not end before.
  void End() {
    if (getpid() != process_) {
      static_cast<void>(session_.release());
      return;
    }
    const InterpreterReleased released;
    if (session_ == nullptr) return;
    // It calls into Python, whose lock a thread may have that waits for this one.
    if (LetNoneBegin() > 0) session_->Cancel();
    AwaitCalls();
    session_.reset();
  }

  // The session, for another holder. Throws as operator-> does.
  std::unique_ptr<Session> Take() {
    operator->();
    return std::move(session_);
  }

  // While it lives, the session is there.
  class Call {
   public:
    explicit Call(const HeldSession& held) : held_(held) {}
    ~Call() {
      MutexLock lock(held_.mutex_);
      --held_.calls_;
      held_.ended_.SignalAll();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Session* operator->() const { return held_.session_.get(); }
    Session& operator*() const { return *held_.session_; }

   private:
    const HeldSession& held_;
  };

  // Throws CANCELLED after End(), FAILED_PRECONDITION in a fork.
  Call operator->() const {
    if (getpid() != process_) {
      throw StatusError(absl::FailedPreconditionError(
          "the connection is of the process that this one was forked from"));
    }
    MutexLock lock(mutex_);
    if (ending_ || session_ == nullptr) {
      throw StatusError(absl::CancelledError("it was ended"));
    }
    ++calls_;
    return Call(*this);
  }

 private:
  // How many are under way.
  size_t LetNoneBegin() {
    MutexLock lock(mutex_);
    ending_ = true;
    return calls_;
  }
  void AwaitCalls() {
    MutexLock lock(mutex_);
    while (calls_ > 0) ended_.Wait(mutex_);
  }

  const pid_t process_ = getpid();
  std::unique_ptr<Session> session_;
  mutable Mutex mutex_;
  mutable CondVar ended_;
  mutable size_t calls_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
