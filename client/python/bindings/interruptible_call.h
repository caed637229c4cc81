// Blocking calls that Ctrl-C ends.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_INTERRUPTIBLE_CALL_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_INTERRUPTIBLE_CALL_H_

#include <functional>

namespace evenpack::python {

// Runs `work` on a thread of its own, so that this one can look for Ctrl-C: then
// `cancel` has `work` return, and the interruption is raised. Sessions call into Python
// with locks of their own held, and a signal's handler runs on the main thread: it must
// not find it there, and neither `work` nor a session's HeldSession::Call, since the
// handler may end the session. `cancel` may find it ended. `look` runs in this thread
// with the interpreter's lock, as often as it looks; what it raises
// (nanobind::python_error) interrupts likewise. Called with the interpreter's lock.
void Interruptibly(
    const std::function<void()>& work, const std::function<void()>& cancel,
    const std::function<void()>& look = [] {});

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_INTERRUPTIBLE_CALL_H_
