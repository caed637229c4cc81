// The interpreter's lock, in threads that the interpreter may not outlive.
//
// CPython before 3.14 ends a thread that takes the lock of an interpreter that ends: it
// unwinds its stack, through destructors and functions that let no exception pass, and
// the process aborts. Here such a thread stands still, as it does from 3.14 on, and
// goes with the process. nanobind's guards, which these are in the place of, don't.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_INTERPRETER_LOCK_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_INTERPRETER_LOCK_H_

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include "client/python/bindings/ending_threads.h"

namespace evenpack::python {

[[noreturn]] inline void StandStill() {
  for (;;) pause();
}

// Runs what takes the lock, or has taken it and waits in Python.
template <typename Work>
void OrStandStill(const Work& work) {
  // Of an interpreter that is no more there is none to be taken.
  if (Py_IsInitialized() == 0 && !EndsTheInterpreter()) StandStill();
  try {
    work();
  } catch (const abi::__forced_unwind&) {
    StandStill();
  }
}

// While it lives, the calling thread has the lock.
class InterpreterHeld {
 public:
  InterpreterHeld() {
    OrStandStill([this] { state_ = PyGILState_Ensure(); });
  }
  ~InterpreterHeld() { PyGILState_Release(state_); }
  InterpreterHeld(const InterpreterHeld&) = delete;
  InterpreterHeld& operator=(const InterpreterHeld&) = delete;

 private:
  PyGILState_STATE state_{};
};

// While it lives, the calling thread, which has the lock, has it not.
class InterpreterReleased {
 public:
  InterpreterReleased() : thread_(PyEval_SaveThread()) {}
  ~InterpreterReleased() {
    OrStandStill([this] { PyEval_RestoreThread(thread_); });
  }
  InterpreterReleased(const InterpreterReleased&) = delete;
  InterpreterReleased& operator=(const InterpreterReleased&) = delete;

 private:
  PyThreadState* const thread_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_INTERPRETER_LOCK_H_
