#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <memory>
#include <string>

#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/python_seconds.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "gpu_worker/rank_form/rank_form.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::RankForm;

std::shared_ptr<RankForm> Processor(size_t threads, const std::string& host,
                                    double connect_seconds, double exchange_seconds) {
  worker::GlooOptions group;
  group.host = host;
  group.connect_timeout = FromSeconds(connect_seconds);
  group.exchange_timeout = FromSeconds(exchange_seconds);
  const InterpreterReleased release;
  return ValueOrThrow(worker::OnProcessor(threads, group));
}

std::shared_ptr<RankForm> Cuda(int device, size_t memory_bytes, double connect_seconds,
                               double exchange_seconds) {
  worker::CudaFormOptions options;
  options.rank.device = device;
  options.rank.budget = memory_bytes;
  options.group.connect_timeout = FromSeconds(connect_seconds);
  options.group.exchange_timeout = FromSeconds(exchange_seconds);
  const InterpreterReleased release;
  return ValueOrThrow(worker::OnCuda(options));
}

}  // namespace

void BindForm(nb::module_& module) {
  nb::class_<RankForm>(module, "Form")
      .def_static("processor", &Processor, nb::arg("threads"),
                  nb::arg("host") = worker::GlooOptions().host,
                  nb::arg("connect_seconds") = 60.0,
                  nb::arg("exchange_seconds") = 600.0)
      .def_static("cuda", &Cuda, nb::arg("device"), nb::arg("memory_bytes"),
                  nb::arg("connect_seconds") = 60.0,
                  nb::arg("exchange_seconds") = 600.0)
      .def_prop_ro("cuda_device", &RankForm::cuda_device)
      .def_prop_ro("keys_together", [](RankForm& form) {
        return form.engine().key_placement() == worker::KeyPlacement::kTogether;
      });
}

}  // namespace evenpack::python
