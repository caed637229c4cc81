// What a client tries again, as Python hears of it.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_RETRY_LISTENER_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_RETRY_LISTENER_H_

#include <nanobind/nanobind.h>

#include "client/cpp/retry_news.h"

namespace evenpack::python {

// Seldom, and for what lasts: calls `write` with a line, in the thread that tries. What
// it raises is reported as Python reports what nobody can catch.
client::RetryListener MakePythonRetryListener(const nanobind::callable& write);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_PYTHON_RETRY_LISTENER_H_
