// What has threads that call into Python, as Python holds it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "client/python/bindings/counted_session.h"
#include "client/python/bindings/ending_threads.h"
#include "client/python/bindings/interpreter_lock.h"
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
    Session* session = session_.Release();
    // A fork has none of its threads: there is nothing that could be waited for.
    if (session == nullptr || IsForked()) return;
    EndInThread([session] { const std::unique_ptr<Session> last(session); });
  }
  HeldSession(const HeldSession&) = delete;
  HeldSession& operator=(const HeldSession&) = delete;

  // Ends the calls that are under way in other threads, and waits until no thread of
  // the session calls into Python any more, also where another thread ends it already;
  // the interpreter must not end before.
  void End() {
    if (IsForked()) {
      static_cast<void>(session_.Release());
      return;
    }
    // It calls into Python, whose lock a thread may have that waits for this one.
    const InterpreterReleased released;
    session_.End();
  }

  // The session, for another holder. Throws as operator-> does.
  std::unique_ptr<Session> Take() {
    CheckProcess();
    std::unique_ptr<Session> session = session_.Take();
    CheckIsThere(session.get());
    return session;
  }

  // While it lives, the session is there.
  class Call {
   public:
    Call(CountedSession<Session>& counted, Session& session)
        : counted_(counted), session_(session) {}
    ~Call() { counted_.EndCall(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Session* operator->() const { return &session_; }
    Session& operator*() const { return session_; }

   private:
    CountedSession<Session>& counted_;
    Session& session_;
  };

  // Throws CANCELLED after End(), FAILED_PRECONDITION in a fork.
  Call operator->() const {
    CheckProcess();
    Session* const session = session_.BeginCall();
    CheckIsThere(session);
    return Call(session_, *session);
  }

 private:
  bool IsForked() const { return getpid() != process_; }
  void CheckProcess() const {
    if (!IsForked()) return;
    throw StatusError(absl::FailedPreconditionError(
        "the connection is of the process that this one was forked from"));
  }
  static void CheckIsThere(const Session* session) {
    if (session == nullptr) throw StatusError(absl::CancelledError("it was ended"));
  }

  const pid_t process_ = getpid();
  mutable CountedSession<Session> session_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_HELD_SESSION_H_
