// Durations, which Python has as seconds.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_SECONDS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_SECONDS_H_

#include <chrono>
#include <cstdint>

namespace evenpack::python {

// Rounded down to milliseconds.
inline std::chrono::milliseconds FromSeconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_SECONDS_H_
