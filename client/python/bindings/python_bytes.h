// Bytes between C++ and Python. Under the interpreter's lock.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_BYTES_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_BYTES_H_

#include <nanobind/nanobind.h>

#include <string>

namespace evenpack::python {

inline nanobind::bytes ToBytes(const std::string& text) {
  return nanobind::bytes(text.data(), text.size());
}

inline std::string ToText(const nanobind::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

// A message of the API.
template <typename Message>
nanobind::bytes Serialized(const Message& message) {
  return ToBytes(message.SerializeAsString());
}

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_BYTES_H_
