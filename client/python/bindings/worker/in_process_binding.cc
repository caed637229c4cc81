#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/python/bindings/held_member.h"
#include "client/python/bindings/held_session.h"
#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/interruptible_call.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/python_seconds.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/in_process_worker.h"
#include "client/python/bindings/worker/lone_worker.h"
#include "client/python/bindings/worker/pass_arrays.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rendezvous/known_peers.h"
#include "gpu_worker/steps/step_times.h"
#include "server/runtime/mutex.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::Endpoint;
using worker::PreparedMicroBatch;
using worker::RankForm;
using HeldWorker = HeldSession<InProcessWorker>;

// Until a group is made over it. The form's device is what it exchanges on.
struct OwnedEndpoint {
  std::shared_ptr<RankForm> form;
  std::unique_ptr<Endpoint> endpoint;
};

template <typename Executor>
absl::Status Forward(Executor& executor, const PreparedMicroBatch& prepared,
                     const ForwardArrays& arrays) {
  return executor.Forward(
      prepared, {arrays.query.data(), arrays.key.data(), arrays.value.data()},
      {arrays.output.data(), static_cast<float*>(arrays.log_sum_exp.data())});
}

template <typename Executor>
absl::Status Backward(Executor& executor, const PreparedMicroBatch& prepared,
                      const ForwardArrays& forward, const BackwardArrays& arrays) {
  return executor.Backward(
      prepared, {forward.query.data(), forward.key.data(), forward.value.data()},
      {forward.output.data(), static_cast<float*>(forward.log_sum_exp.data())},
      arrays.output_gradient.data(),
      {arrays.query_gradient.data(), arrays.key_gradient.data(),
       arrays.value_gradient.data()});
}

// pass(executor) in the order of the caller's stream: also where the pass failed, since
// its tensors' memory is the caller's again.
template <typename Worker, typename Pass>
absl::Status InStream(Worker& worker, uintptr_t stream, const Pass& pass) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): PyTorch tells handles as numbers.
  auto* const of = reinterpret_cast<worker::cuda::Stream>(stream);
  absl::Status status = worker.form().After(of);
  // Nothing was done, and a stream that is captured must not be told to wait.
  if (!status.ok()) return status;
  status = pass(worker.executor());
  status.Update(worker.form().Before(of));
  return status;
}

// A call that waits for peers, once no other thread's runs.
void InGroup(const HeldWorker& worker, const std::function<absl::Status()>& work) {
  absl::Status status;
  Interruptibly(
      [&] {
        // Not in the interpreter's thread, where a signal's handler may end the worker,
        // which waits for its calls.
        const HeldWorker::Call of = worker.operator->();
        MutexLock lock(of->calls());
        status = work();
      },
      [&worker] { worker->Cancel(); });
  ThrowIfError(status);
}

std::optional<int> PlaceOf(const LoneWorker& worker) { return worker.cuda_device(); }
std::optional<int> PlaceOf(const HeldWorker& worker) {
  return worker->form().cuda_device();
}

constexpr char kForwardTypes[] =
    "def forward(self, prepared: Prepared, query: object, key: object, value: object, "
    "output: object, log_sum_exp: object, *, stream: int) -> None";
constexpr char kBackwardTypes[] =
    "def backward(self, prepared: Prepared, query: object, key: object, "
    "value: object, output: object, log_sum_exp: object, output_gradient: object, "
    "query_gradient: object, key_gradient: object, value_gradient: object, "
    "*, stream: int) -> None";

// Defines forward() and backward(), whose passes run(held, work) runs, where
// work(worker) returns a status.
template <typename Held, typename Run>
void BindPasses(nb::class_<Held>& bound, const Run& run) {
  bound
      .def(
          "forward",
          [run](Held& held, const PreparedMicroBatch& prepared, const PassArray& query,
                const PassArray& key, const PassArray& value, const PassArray& output,
                const PassArray& log_sum_exp, uintptr_t stream) {
            const ForwardArrays arrays{query, key, value, output, log_sum_exp};
            Check(prepared, arrays, PlaceOf(held));
            run(held, [&](auto& worker) {
              return InStream(worker, stream, [&](auto& executor) {
                return Forward(executor, prepared, arrays);
              });
            });
          },
          nb::arg("prepared"), nb::arg("query").noconvert(), nb::arg("key").noconvert(),
          nb::arg("value").noconvert(), nb::arg("output").noconvert(),
          nb::arg("log_sum_exp").noconvert(), nb::kw_only(), nb::arg("stream"),
          nb::sig(kForwardTypes))
      .def(
          "backward",
          [run](Held& held, const PreparedMicroBatch& prepared, const PassArray& query,
                const PassArray& key, const PassArray& value, const PassArray& output,
                const PassArray& log_sum_exp, const PassArray& output_gradient,
                const PassArray& query_gradient, const PassArray& key_gradient,
                const PassArray& value_gradient, uintptr_t stream) {
            const ForwardArrays forward{query, key, value, output, log_sum_exp};
            const BackwardArrays arrays{output_gradient, query_gradient, key_gradient,
                                        value_gradient};
            Check(prepared, forward, PlaceOf(held));
            Check(prepared, arrays, PlaceOf(held));
            run(held, [&](auto& worker) {
              return InStream(worker, stream, [&](auto& executor) {
                return Backward(executor, prepared, forward, arrays);
              });
            });
          },
          nb::arg("prepared"), nb::arg("query").noconvert(), nb::arg("key").noconvert(),
          nb::arg("value").noconvert(), nb::arg("output").noconvert(),
          nb::arg("log_sum_exp").noconvert(), nb::arg("output_gradient").noconvert(),
          nb::arg("query_gradient").noconvert(), nb::arg("key_gradient").noconvert(),
          nb::arg("value_gradient").noconvert(), nb::kw_only(), nb::arg("stream"),
          nb::sig(kBackwardTypes));
}

void BindLone(nb::module_& module) {
  nb::class_<LoneWorker> bound(module, "Alone");
  bound.def(nb::init<std::shared_ptr<RankForm>>(), nb::arg("form"));
  BindPasses(bound, [](LoneWorker& worker, const auto& work) {
    absl::Status status;
    {
      const InterpreterReleased release;
      status = worker.Run(work);
    }
    ThrowIfError(status);
  });
}

InProcessOptions OptionsOf(uint32_t head_groups, double patience_seconds) {
  return {head_groups, FromSeconds(patience_seconds)};
}

std::unique_ptr<HeldWorker> Start(std::shared_ptr<RankForm> form,
                                  std::unique_ptr<client::GroupMember> member,
                                  worker::GroupRendezvous::OpenEndpoint open,
                                  const InProcessOptions& options) {
  const InterpreterReleased release;
  return std::make_unique<HeldWorker>(std::make_unique<InProcessWorker>(
      std::move(form), std::move(member), std::move(open), options));
}

std::unique_ptr<HeldWorker> Join(HeldMember& member, std::shared_ptr<RankForm> form,
                                 uint32_t rank, uint32_t ranks, double patience_seconds,
                                 uint32_t head_groups) {
  const auto open = ValueOrThrow(form->Endpoints());
  return Start(
      std::move(form), member.Take(), [open, rank, ranks] { return open(rank, ranks); },
      OptionsOf(head_groups, patience_seconds));
}

// Its connections are made once.
std::unique_ptr<HeldWorker> Over(OwnedEndpoint& endpoint,
                                 const std::vector<std::string>& addresses,
                                 double patience_seconds, uint32_t head_groups) {
  const auto held = std::make_shared<OwnedEndpoint>(std::move(endpoint));
  const auto open = [held]() -> absl::StatusOr<std::unique_ptr<Endpoint>> {
    if (held->endpoint != nullptr) return std::move(held->endpoint);
    return absl::FailedPreconditionError(
        "the group has lost its connections, and no server through which its ranks "
        "would find each other again: begin anew with all of them");
  };
  return Start(held->form, std::make_unique<worker::KnownPeers>(addresses), open,
               OptionsOf(head_groups, patience_seconds));
}

// (micro-batch, forward passes, backward passes, then nanoseconds of both and waited).
using TimesRow = std::tuple<uint32_t, uint32_t, uint32_t, int64_t, int64_t, int64_t>;

std::vector<TimesRow> Times(const HeldWorker& worker) {
  worker::StepTimes times;
  InGroup(worker, [&] {
    times = worker->times();
    return absl::OkStatus();
  });
  std::vector<TimesRow> rows;
  for (const auto& [index, of] : times) {
    rows.emplace_back(index, of.forward_passes, of.backward_passes, of.forward_ns,
                      of.backward_ns, of.waited_ns);
  }
  return rows;
}

uint64_t Epoch(const HeldWorker& worker) {
  uint64_t epoch = 0;
  InGroup(worker, [&] {
    epoch = worker->executor().epoch();
    return absl::OkStatus();
  });
  return epoch;
}

void BindGroup(nb::module_& module) {
  nb::class_<OwnedEndpoint>(module, "Endpoint")
      .def(
          "__init__",
          [](OwnedEndpoint* self, std::shared_ptr<RankForm> form, uint32_t rank,
             uint32_t ranks) {
            const auto open = ValueOrThrow(form->Endpoints());
            auto endpoint = ValueOrThrow(open(rank, ranks));
            new (self) OwnedEndpoint{std::move(form), std::move(endpoint)};
          },
          nb::arg("form"), nb::arg("rank"), nb::arg("ranks"))
      .def_prop_ro("address", [](const OwnedEndpoint& owned) {
        if (owned.endpoint != nullptr) return ToBytes(owned.endpoint->address());
        throw StatusError(absl::FailedPreconditionError("a group was made over it"));
      });
}

}  // namespace

void BindInProcess(nb::module_& module) {
  BindLone(module);
  BindGroup(module);
  nb::class_<HeldWorker> bound(module, "InProcess", nb::is_weak_referenceable());
  bound
      .def_static("join", &Join, nb::arg("member"), nb::arg("form"), nb::arg("rank"),
                  nb::arg("ranks"), nb::arg("patience_seconds"), nb::arg("head_groups"))
      .def_static(
          "over",
          [](OwnedEndpoint& endpoint, const std::vector<nb::bytes>& addresses,
             double patience_seconds, uint32_t head_groups) {
            std::vector<std::string> by_rank;
            by_rank.reserve(addresses.size());
            for (const nb::bytes& address : addresses)
              by_rank.push_back(ToText(address));
            return Over(endpoint, by_rank, patience_seconds, head_groups);
          },
          nb::arg("endpoint"), nb::arg("addresses"), nb::arg("patience_seconds"),
          nb::arg("head_groups"))
      .def(
          "begin_step",
          [](const HeldWorker& worker, uint64_t step) {
            InGroup(worker, [&] { return worker->executor().BeginStep(step); });
          },
          nb::arg("step"))
      .def("end_step",
           [](const HeldWorker& worker) {
             InGroup(worker, [&] { return worker->executor().EndStep(); });
           })
      .def(
          "abandon",
          [](const HeldWorker& worker, const std::string& why) {
            InGroup(worker, [&] {
              worker->executor().Abandon(absl::AbortedError(why));
              return absl::OkStatus();
            });
          },
          nb::arg("why"))
      .def_prop_ro("epoch", &Epoch)
      .def_prop_ro("step_times", &Times)
      .def("end", &HeldWorker::End);
  BindPasses(bound, [](const HeldWorker& worker, const auto& work) {
    InGroup(worker, [&] {
      const HeldWorker::Call of = worker.operator->();
      return work(*of);
    });
  });
}

}  // namespace evenpack::python
