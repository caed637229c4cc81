#include "client/python/bindings/python_retry_listener.h"

#include <nanobind/stl/string.h>

#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/shared_object.h"

namespace evenpack::python {

namespace nb = nanobind;

client::RetryListener MakePythonRetryListener(const nb::callable& write) {
  return client::Seldom({}, [write = Share(write)](const client::RetryNews& news) {
    const InterpreterHeld acquire;
    OrStandStill([&] {
      try {
        (*write)(TextOf(news));
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("evenpack's log");
      }
    });
  });
}

}  // namespace evenpack::python
