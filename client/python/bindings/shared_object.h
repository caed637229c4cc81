// A Python object that threads of C++ hold.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_OBJECT_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_OBJECT_H_

#include <nanobind/nanobind.h>

#include <memory>

#include "client/python/bindings/interpreter_lock.h"

namespace evenpack::python {

// Held and copied without the interpreter's lock, under which it is let go of.
using SharedObject = std::shared_ptr<const nanobind::object>;

inline SharedObject Share(const nanobind::object& object) {
  return {std::make_unique<const nanobind::object>(object).release(),
          [](const nanobind::object* held) {
            const InterpreterHeld acquire;
            const std::unique_ptr<const nanobind::object> last(held);
          }};
}

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_SHARED_OBJECT_H_
