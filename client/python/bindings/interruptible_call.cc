#include "client/python/bindings/interruptible_call.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/status_error.h"

namespace evenpack::python {

namespace nb = nanobind;

namespace {

void Try(const std::function<void()>& cancel) {
  try {
    cancel();
    // NOLINTNEXTLINE(bugprone-empty-catch): it has been ended, which ends its calls
  } catch (const StatusError&) {
  }
}

}  // namespace

void Interruptibly(const std::function<void()>& work,
                   const std::function<void()>& cancel,
                   const std::function<void()>& look) {
  constexpr std::chrono::milliseconds kLook{50};
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr thrown;
  std::optional<nb::python_error> interruption;
  {
    const InterpreterReleased release;
    std::jthread worker([&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::scoped_lock lock(mutex);
      done = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kLook, [&] { return done; })) {
      if (interruption.has_value()) continue;
      lock.unlock();
      {
        const InterpreterHeld acquire;
        try {
          // Taken at once: `cancel` calls into Python, too.
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          look();
        } catch (const nb::python_error& error) {
          interruption.emplace(error);
        }
      }
      if (interruption.has_value()) std::jthread([&] { Try(cancel); }).join();
      lock.lock();
    }
  }
  if (interruption.has_value()) throw *std::move(interruption);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace evenpack::python
