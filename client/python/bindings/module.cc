#include <nanobind/nanobind.h>

#include "client/python/bindings/bindings.h"
#include "client/python/bindings/ending_threads.h"
#include "client/python/bindings/status_error.h"

NB_MODULE(_native, module) {
  module.doc() = "The engine and the client of evenpack, for its Python modules alone.";
  // An exception that a program keeps to its end keeps what its frames held.
  nanobind::set_leak_warnings(false);
  evenpack::python::TranslateStatusErrors();
  evenpack::python::AwaitEndingThreadsAtExit();
  evenpack::python::BindMicroBatches(module);
  evenpack::python::BindSteps(module);
  evenpack::python::BindLocalJob(module);
  evenpack::python::BindClient(module);
}
