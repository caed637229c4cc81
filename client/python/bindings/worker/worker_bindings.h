// The parts of the module evenpack._worker.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_WORKER_BINDINGS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_WORKER_BINDINGS_H_

#include <nanobind/nanobind.h>

namespace evenpack::python {

// Form.
void BindForm(nanobind::module_& module);
// Shape, Prepared.
void BindPrepared(nanobind::module_& module);
// Alone, Endpoint, InProcess.
void BindInProcess(nanobind::module_& module);
// SidecarLink.
void BindSidecar(nanobind::module_& module);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_WORKER_WORKER_BINDINGS_H_
