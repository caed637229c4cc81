// The parts of the module evenpack._native.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_BINDINGS_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_BINDINGS_H_

#include <nanobind/nanobind.h>

namespace evenpack::python {

// MicroBatch, Slices.
void BindMicroBatches(nanobind::module_& module);
// Spec, Step.
void BindSteps(nanobind::module_& module);
// LocalJob.
void BindLocalJob(nanobind::module_& module);
// Client, Consumer, Producer.
void BindClient(nanobind::module_& module);

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_BINDINGS_H_
