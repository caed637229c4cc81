#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/python/bindings/held_member.h"
#include "client/python/bindings/held_session.h"
#include "client/python/bindings/interruptible_call.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/status_error.h"
#include "client/python/bindings/worker/in_process_worker.h"
#include "client/python/bindings/worker/pass_arrays.h"
#include "client/python/bindings/worker/worker_bindings.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/rendezvous/known_peers.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using worker::Endpoint;
using worker::PreparedMicroBatch;
using HeldWorker = HeldSession<InProcessWorker>;

// Until a group is made over it.
struct OwnedEndpoint {
  std::unique_ptr<Endpoint> endpoint;
};

// A group of one rank, which never forms anew.
class LoneWorker {
 public:
  explicit LoneWorker(size_t threads)
      : engine_(threads), executor_(group_.OfRank(0), engine_, {.head_groups = 1}) {}

  worker::Executor& executor() { return executor_; }

 private:
  worker::LocalGroup group_{1};
  worker::CpuAttention engine_;
  worker::Executor executor_;
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

// A call that waits for peers.
void InGroup(const HeldWorker& worker, const std::function<absl::Status()>& work) {
  InProcessWorker* const of = worker.operator->();
  absl::Status status;
  Interruptibly([&] { status = work(); }, [of] { of->Cancel(); });
  ThrowIfError(status);
}

constexpr char kForwardTypes[] =
    "def forward(self, prepared: Prepared, query: object, key: object, value: object, "
    "output: object, log_sum_exp: object) -> None";
constexpr char kBackwardTypes[] =
    "def backward(self, prepared: Prepared, query: object, key: object, "
    "value: object, output: object, log_sum_exp: object, output_gradient: object, "
    "query_gradient: object, key_gradient: object, value_gradient: object) -> None";

// Defines forward() and backward(), whose passes run(held, pass) runs.
template <typename Held, typename Run>
void BindPasses(nb::class_<Held>& bound, const Run& run) {
  bound
      .def(
          "forward",
          [run](Held& held, const PreparedMicroBatch& prepared, const PassArray& query,
                const PassArray& key, const PassArray& value, const PassArray& output,
                const PassArray& log_sum_exp) {
            const ForwardArrays arrays{query, key, value, output, log_sum_exp};
            Check(prepared, arrays);
            run(held,
                [&](auto& executor) { return Forward(executor, prepared, arrays); });
          },
          nb::arg("prepared"), nb::arg("query").noconvert(), nb::arg("key").noconvert(),
          nb::arg("value").noconvert(), nb::arg("output").noconvert(),
          nb::arg("log_sum_exp").noconvert(), nb::sig(kForwardTypes))
      .def(
          "backward",
          [run](Held& held, const PreparedMicroBatch& prepared, const PassArray& query,
                const PassArray& key, const PassArray& value, const PassArray& output,
                const PassArray& log_sum_exp, const PassArray& output_gradient,
                const PassArray& query_gradient, const PassArray& key_gradient,
                const PassArray& value_gradient) {
            const ForwardArrays forward{query, key, value, output, log_sum_exp};
            const BackwardArrays arrays{output_gradient, query_gradient, key_gradient,
                                        value_gradient};
            Check(prepared, forward);
            Check(prepared, arrays);
            run(held, [&](auto& executor) {
              return Backward(executor, prepared, forward, arrays);
            });
          },
          nb::arg("prepared"), nb::arg("query").noconvert(), nb::arg("key").noconvert(),
          nb::arg("value").noconvert(), nb::arg("output").noconvert(),
          nb::arg("log_sum_exp").noconvert(), nb::arg("output_gradient").noconvert(),
          nb::arg("query_gradient").noconvert(), nb::arg("key_gradient").noconvert(),
          nb::arg("value_gradient").noconvert(), nb::sig(kBackwardTypes));
}

void BindLone(nb::module_& module) {
  nb::class_<LoneWorker> bound(module, "Alone");
  bound.def(nb::init<size_t>(), nb::arg("threads"));
  BindPasses(bound, [](LoneWorker& worker, const auto& pass) {
    absl::Status status;
    {
      const nb::gil_scoped_release release;
      status = pass(worker.executor());
    }
    ThrowIfError(status);
  });
}

worker::GlooOptions GroupOptionsOf(const std::string& host, uint32_t rank,
                                   uint32_t ranks, double connect_seconds,
                                   double exchange_seconds) {
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  };
  worker::GlooOptions options;
  options.host = host;
  options.rank = rank;
  options.ranks = ranks;
  options.connect_timeout = milliseconds(connect_seconds);
  options.exchange_timeout = milliseconds(exchange_seconds);
  return options;
}

InProcessOptions OptionsOf(size_t threads, uint32_t head_groups,
                           double patience_seconds) {
  InProcessOptions options;
  options.threads = threads;
  options.head_groups = head_groups;
  options.patience =
      std::chrono::milliseconds(static_cast<int64_t>(patience_seconds * 1000));
  return options;
}

std::unique_ptr<HeldWorker> Start(std::unique_ptr<client::GroupMember> member,
                                  worker::GroupRendezvous::OpenEndpoint open,
                                  const InProcessOptions& options) {
  const nb::gil_scoped_release release;
  return std::make_unique<HeldWorker>(
      std::make_unique<InProcessWorker>(std::move(member), std::move(open), options));
}

std::unique_ptr<HeldWorker> Join(HeldMember& member, const std::string& host,
                                 uint32_t rank, uint32_t ranks, double connect_seconds,
                                 double exchange_seconds, double patience_seconds,
                                 size_t threads, uint32_t head_groups) {
  const worker::GlooOptions group =
      GroupOptionsOf(host, rank, ranks, connect_seconds, exchange_seconds);
  return Start(
      member.Take(), [group] { return worker::OpenGlooEndpoint(group); },
      OptionsOf(threads, head_groups, patience_seconds));
}

// Its connections are made once.
std::unique_ptr<HeldWorker> Over(OwnedEndpoint& endpoint,
                                 const std::vector<std::string>& addresses,
                                 double patience_seconds, size_t threads,
                                 uint32_t head_groups) {
  const auto held = std::make_shared<OwnedEndpoint>(std::move(endpoint));
  const auto open = [held]() -> absl::StatusOr<std::unique_ptr<Endpoint>> {
    if (held->endpoint != nullptr) return std::move(held->endpoint);
    return absl::FailedPreconditionError(
        "the group has lost its connections, and no server through which its ranks "
        "would find each other again: begin anew with all of them");
  };
  return Start(std::make_unique<worker::KnownPeers>(addresses), open,
               OptionsOf(threads, head_groups, patience_seconds));
}

// (micro-batch, forward passes, backward passes, then nanoseconds of both and waited).
using TimesRow = std::tuple<uint32_t, uint32_t, uint32_t, int64_t, int64_t, int64_t>;

std::vector<TimesRow> Times(const HeldWorker& worker) {
  std::vector<TimesRow> rows;
  for (const auto& [index, of] : worker->times()) {
    rows.emplace_back(index, of.forward_passes, of.backward_passes, of.forward_ns,
                      of.backward_ns, of.waited_ns);
  }
  return rows;
}

void BindGroup(nb::module_& module) {
  nb::class_<OwnedEndpoint>(module, "Endpoint")
      .def(
          "__init__",
          [](OwnedEndpoint* self, const std::string& host, uint32_t rank,
             uint32_t ranks, double connect_seconds, double exchange_seconds) {
            new (self) OwnedEndpoint{ValueOrThrow(worker::OpenGlooEndpoint(
                GroupOptionsOf(host, rank, ranks, connect_seconds, exchange_seconds)))};
          },
          nb::arg("host"), nb::arg("rank"), nb::arg("ranks"),
          nb::arg("connect_seconds"), nb::arg("exchange_seconds"))
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
      .def_static("join", &Join, nb::arg("member"), nb::arg("host"), nb::arg("rank"),
                  nb::arg("ranks"), nb::arg("connect_seconds"),
                  nb::arg("exchange_seconds"), nb::arg("patience_seconds"),
                  nb::arg("threads"), nb::arg("head_groups"))
      .def_static(
          "over",
          [](OwnedEndpoint& endpoint, const std::vector<nb::bytes>& addresses,
             double patience_seconds, size_t threads, uint32_t head_groups) {
            std::vector<std::string> by_rank;
            by_rank.reserve(addresses.size());
            for (const nb::bytes& address : addresses)
              by_rank.push_back(ToText(address));
            return Over(endpoint, by_rank, patience_seconds, threads, head_groups);
          },
          nb::arg("endpoint"), nb::arg("addresses"), nb::arg("patience_seconds"),
          nb::arg("threads"), nb::arg("head_groups"))
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
      .def_prop_ro("epoch",
                   [](const HeldWorker& worker) { return worker->executor().epoch(); })
      .def_prop_ro("step_times", &Times)
      .def("end", &HeldWorker::End);
  BindPasses(bound, [](const HeldWorker& worker, const auto& pass) {
    InGroup(worker, [&] { return pass(worker->executor()); });
  });
}

}  // namespace evenpack::python
