// Threads in which sessions end that the interpreter has let go of.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_ENDING_THREADS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_ENDING_THREADS_H_

#include <functional>

namespace evenpack::python {

// Runs `end` in a thread of its own. The collector runs in whichever thread makes
// objects: also in one of the session that it lets go of, which can't wait for itself.
// Under the interpreter's lock.
void EndInThread(std::function<void()> end);

// Has the interpreter wait for these threads when it ends, since they call into it.
// Once for each module.
void AwaitEndingThreadsAtExit();

// Whether the calling thread is the one in which the interpreter ends, and so has the
// interpreter's lock to the last. Thread-safe.
bool EndsTheInterpreter();

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_ENDING_THREADS_H_
