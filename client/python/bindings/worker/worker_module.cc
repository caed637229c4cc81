#include <nanobind/nanobind.h>

#include "client/python/bindings/ending_threads.h"
#include "client/python/bindings/worker/worker_bindings.h"

NB_MODULE(_worker, module) {
  module.doc() =
      "Attention over a context-parallel group, for evenpack's modules alone.";
  nanobind::set_leak_warnings(false);
  // Its types of plans and group members, and its translation of errors.
  nanobind::module_::import_("evenpack._native");
  evenpack::python::AwaitEndingThreadsAtExit();
  evenpack::python::BindForm(module);
  evenpack::python::BindPrepared(module);
  evenpack::python::BindInProcess(module);
  evenpack::python::BindSidecar(module);
}
