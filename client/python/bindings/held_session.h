// What has threads that call into Python, as Python holds it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "client/python/bindings/ending_threads.h"
#include "client/python/bindings/status_error.h"

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

  // Waits until no thread of the session calls into Python any more; the interpreter
  // must not end before. No other thread may be in a call.
  void End() {
    if (getpid() != process_) {
      static_cast<void>(session_.release());
      return;
    }
    const nanobind::gil_scoped_release release;
    session_.reset();
  }

  // The session, for another holder. Throws as operator-> does.
  std::unique_ptr<Session> Take() {
    operator->();
    return std::move(session_);
  }

  // Throws CANCELLED after End(), FAILED_PRECONDITION in a fork.
  Session* operator->() const {
    if (getpid() != process_) {
      throw StatusError(absl::FailedPreconditionError(
          "the connection is of the process that this one was forked from"));
    }
    if (session_ == nullptr) throw StatusError(absl::CancelledError("it was ended"));
    return session_.get();
  }

 private:
  const pid_t process_ = getpid();
  std::unique_ptr<Session> session_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
