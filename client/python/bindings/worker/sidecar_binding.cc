#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "client/python/bindings/interruptible_call.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/attach/unix_socket.h"
#include "gpu_worker/sidecar_client/sidecar_link.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::ArenaTensors;
using worker::SidecarLink;
using ArenaBytes = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>, nb::c_contig>;

// Submits, and waits until it is done.
void Do(SidecarLink& link, const std::function<absl::StatusOr<uint64_t>()>& submit) {
  absl::Status status;
  Interruptibly(
      [&] {
        const absl::StatusOr<uint64_t> number = submit();
        status = number.ok() ? link.Wait(*number) : number.status();
      },
      [&link] { link.Leave(); });
  ThrowIfError(status);
}

// In their order in ArenaTensors; those of a backward pass may be left out.
ArenaTensors TensorsAt(const std::vector<uint64_t>& offsets) {
  ArenaTensors tensors;
  const std::array<uint64_t*, 9> each = {
      &tensors.query,          &tensors.key,          &tensors.value,
      &tensors.output,         &tensors.log_sum_exp,  &tensors.output_gradient,
      &tensors.query_gradient, &tensors.key_gradient, &tensors.value_gradient};
  for (size_t i = 0; i < offsets.size() && i < each.size(); ++i) *each[i] = offsets[i];
  return tensors;
}

// What is done with tensors, by step.
void BindSubmissions(nb::class_<SidecarLink>& bound) {
  bound
      .def(
          "begin_step",
          [](SidecarLink& link, uint64_t step) {
            Do(link, [&] { return link.BeginStep(step); });
          },
          nb::arg("step"))
      .def(
          "end_step",
          [](SidecarLink& link, uint64_t step) {
            Do(link, [&] { return link.EndStep(step); });
          },
          nb::arg("step"))
      .def(
          "forward",
          [](SidecarLink& link, uint64_t step, uint32_t micro_batch, uint64_t rows,
             const std::vector<uint64_t>& offsets) {
            Do(link, [&] {
              return link.Forward(step, micro_batch, rows, TensorsAt(offsets));
            });
          },
          nb::arg("step"), nb::arg("micro_batch"), nb::arg("rows"), nb::arg("offsets"))
      .def(
          "backward",
          [](SidecarLink& link, uint64_t step, uint32_t micro_batch, uint64_t rows,
             const std::vector<uint64_t>& offsets) {
            Do(link, [&] {
              return link.Backward(step, micro_batch, rows, TensorsAt(offsets));
            });
          },
          nb::arg("step"), nb::arg("micro_batch"), nb::arg("rows"), nb::arg("offsets"));
}

}  // namespace

void BindSidecar(nb::module_& module) {
  nb::class_<SidecarLink> bound(module, "SidecarLink", nb::is_weak_referenceable());
  bound
      .def(
          "__init__",
          [](SidecarLink* self, const std::string& socket_folder, uint64_t bytes) {
            const nb::gil_scoped_release release;
            new (self) SidecarLink(ValueOrThrow(
                worker::Attach(worker::AttachSocketIn(socket_folder), bytes)));
          },
          nb::arg("socket_folder"), nb::arg("arena_bytes"))
      .def_prop_ro("token",
                   [](const SidecarLink& self) { return ToBytes(self.token()); })
      .def_prop_ro("is_gone", &SidecarLink::IsGone)
      .def("leave", &SidecarLink::Leave)
      // (offset, uint8 array over the memory, which keeps the arena mapped).
      .def(
          "allocate",
          [](nb::pointer_and_handle<SidecarLink> self, uint64_t bytes) {
            const worker::ArenaBlock block = ValueOrThrow(self.p->Allocate(bytes));
            return nb::make_tuple(block.offset,
                                  ArenaBytes(static_cast<uint8_t*>(block.data),
                                             {static_cast<size_t>(bytes)}, self.h));
          },
          nb::arg("bytes"),
          nb::sig("def allocate(self, bytes: int) -> tuple[int, "
                  "numpy.typing.NDArray[numpy.uint8]]"))
      .def(
          "free",
          [](SidecarLink& link, uint64_t offset) {
            link.Free({offset, nullptr});
          },
          nb::arg("offset"));
  BindSubmissions(bound);
}

}  // namespace evenpack::python
