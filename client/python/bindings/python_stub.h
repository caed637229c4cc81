// The service as Python's grpcio reaches it: a Stub over an object of Python.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_

#include <nanobind/nanobind.h>

#include <memory>

#include "client/cpp/stub.h"

namespace evenpack::python {

// `transport` is an evenpack.transport.Transport: messages are bytes, a status is
// (code, message, bytes of google.rpc.Status). Thread-safe; may be used and destroyed
// with or without the interpreter's lock, which it takes for each call.
std::shared_ptr<client::Stub> MakePythonStub(nanobind::object transport);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_
