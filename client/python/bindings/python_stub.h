// The service as Python's grpcio reaches it: a Stub over an object of Python.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "client/cpp/stub.h"

namespace evenpack::python {

// For the servers that are `given` and those that they name (routed_stub.h).
// `transport_at` makes the evenpack.transport.Transport of an address, those of given
// servers at once: messages are bytes, a status is (code, message, bytes of
// google.rpc.Status). Thread-safe; may be used and destroyed with or without the
// interpreter's lock, which it takes for each call. Throws what `transport_at` raises.
std::shared_ptr<client::Stub> MakePythonStub(const std::vector<std::string>& given,
                                             const nanobind::object& transport_at);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_STUB_H_
