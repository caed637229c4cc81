#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/interruptible_call.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/python_seconds.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/trainer_link.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "server/core/sharding/plan_digest.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::ArenaTensors;
using worker::SidecarLink;

// Waits until work() has returned, which no other thread's runs beside.
void Do(TrainerLink& of, const std::function<absl::Status()>& work) {
  absl::Status status;
  Interruptibly(
      [&] {
        MutexLock lock(of.calls());
        status = work();
      },
      [&of] { of.link().Leave(); });
  ThrowIfError(status);
}

void DoStep(TrainerLink& of, const std::function<absl::StatusOr<uint64_t>()>& submit) {
  Do(of, [&] {
    const absl::StatusOr<uint64_t> number = submit();
    return number.ok() ? of.link().Wait(*number) : number.status();
  });
}

void DoPass(TrainerLink& of, uintptr_t stream, const TrainerLink::Submit& submit) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): PyTorch tells handles as numbers.
  auto* const in = reinterpret_cast<worker::cuda::Stream>(stream);
  const auto run = [&] { return of.RunPass(in, submit); };
  if (!of.cuda_device().has_value()) return Do(of, run);
  absl::Status status;
  {
    const InterpreterReleased release;
    MutexLock lock(of.calls());
    status = run();
  }
  ThrowIfError(status);
}

std::unique_ptr<TrainerLink> Attach(const std::string& socket_folder, uint64_t bytes,
                                    bool on_device, double seconds) {
  std::stop_source stop;
  absl::StatusOr<std::unique_ptr<TrainerLink>> made = absl::UnknownError("not yet");
  Interruptibly(
      [&] {
        made = TrainerLink::Attach(socket_folder, bytes, on_device,
                                   {FromSeconds(seconds), stop.get_token()});
      },
      [&stop] { stop.request_stop(); });
  return ValueOrThrow(std::move(made));
}

// uint8 over the memory, which `owner` keeps mapped: NumPy's, or DLPack's capsule of a
// device.
nb::object BytesAt(void* data, size_t bytes, nb::handle owner,
                   std::optional<int> cuda_device) {
  if (!cuda_device.has_value()) {
    return nb::cast(nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>, nb::c_contig>(
        data, {bytes}, owner));
  }
  return nb::cast(nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cuda>(
      data, {bytes}, owner, {}, nb::dtype<uint8_t>(), nb::device::cuda::value,
      *cuda_device));
}

// Frees the block with its last reference.
nb::capsule Holder(const nb::pointer_and_handle<TrainerLink>& self,
                   const worker::ArenaBlock& block) {
  struct Held {
    nb::object owner;
    TrainerLink& link;
    const worker::ArenaBlock block;
  };
  return {new Held{nb::borrow(self.h), *self.p, block}, [](void* data) noexcept {
            const std::unique_ptr<Held> held(static_cast<Held*>(data));
            held->link.link().Free(held->block);
          }};
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

using Pass = absl::StatusOr<uint64_t> (SidecarLink::*)(uint64_t, uint32_t, uint64_t,
                                                       const ArenaTensors&, uint64_t,
                                                       const Digest128&);

void BindPass(nb::class_<TrainerLink>& bound, const char* name, Pass pass) {
  bound.def(
      name,
      [pass](TrainerLink& self, uint64_t step, uint32_t micro_batch, uint64_t rows,
             const std::vector<uint64_t>& offsets, const ShardPlan& plan,
             uintptr_t stream) {
        DoPass(self, stream, [&](uint64_t ready) {
          return (self.link().*pass)(step, micro_batch, rows, TensorsAt(offsets), ready,
                                     PlanDigest(plan));
        });
      },
      nb::arg("step"), nb::arg("micro_batch"), nb::arg("rows"), nb::arg("offsets"),
      nb::arg("plan"), nb::kw_only(), nb::arg("stream"));
}

// What is done with tensors, by step.
void BindSubmissions(nb::class_<TrainerLink>& bound) {
  bound
      .def(
          "use_in",
          [](TrainerLink& self, uintptr_t stream) {
            const InterpreterReleased release;
            MutexLock lock(self.calls());
            // NOLINTNEXTLINE(performance-no-int-to-ptr): PyTorch tells handles so.
            self.UseIn(reinterpret_cast<worker::cuda::Stream>(stream));
          },
          nb::arg("stream"))
      .def(
          "begin_step",
          [](TrainerLink& self, uint64_t step) {
            DoStep(self, [&] { return self.link().BeginStep(step); });
          },
          nb::arg("step"))
      .def(
          "end_step",
          [](TrainerLink& self, uint64_t step) {
            DoStep(self, [&] { return self.link().EndStep(step); });
          },
          nb::arg("step"));
  BindPass(bound, "forward", &SidecarLink::Forward);
  BindPass(bound, "backward", &SidecarLink::Backward);
}

}  // namespace

void BindSidecar(nb::module_& module) {
  nb::class_<TrainerLink> bound(module, "SidecarLink", nb::is_weak_referenceable());
  bound
      .def(nb::new_(&Attach), nb::arg("socket_folder"), nb::arg("arena_bytes"),
           nb::arg("on_device"), nb::arg("seconds"))
      .def_prop_ro("cuda_device", &TrainerLink::cuda_device)
      .def_prop_ro("token",
                   [](TrainerLink& self) { return ToBytes(self.link().token()); })
      .def_prop_ro("is_gone", [](TrainerLink& self) { return self.link().IsGone(); })
      .def("leave", [](TrainerLink& self) { self.link().Leave(); })
      // Bytes that keep the arena mapped, and are free again when they go.
      .def(
          "allocate",
          [](nb::pointer_and_handle<TrainerLink> self, uint64_t bytes) {
            const worker::ArenaBlock block =
                ValueOrThrow(self.p->link().Allocate(bytes));
            return BytesAt(block.data, static_cast<size_t>(bytes), Holder(self, block),
                           self.p->cuda_device());
          },
          nb::arg("bytes"), nb::sig("def allocate(self, bytes: int) -> typing.Any"))
      // Of an address; none: it is not in the arena.
      .def(
          "offset_of",
          [](TrainerLink& self, uintptr_t address) -> std::optional<uint64_t> {
            const worker::Arena& arena = self.link().arena();
            const auto first = reinterpret_cast<uintptr_t>(arena.data());
            if (address < first || address - first >= arena.data_bytes()) {
              return std::nullopt;
            }
            return address - first;
          },
          nb::arg("address"));
  BindSubmissions(bound);
}

}  // namespace evenpack::python
