#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "client/cpp/connection_cause.h"
#include "client/cpp/local_address.h"
#include "client/cpp/server_addresses.h"
#include "client/cpp/wire_status.h"
#include "client/python/bindings/bindings.h"
#include "client/python/bindings/columns.h"
#include "client/python/bindings/held_client.h"
#include "client/python/bindings/held_member.h"
#include "client/python/bindings/held_session.h"
#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/interruptible_call.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/python_retry_listener.h"
#include "client/python/bindings/python_seconds.h"
#include "client/python/bindings/python_stub.h"
#include "client/python/bindings/status_error.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;
using client::Client;
using client::Consumer;
using client::ConsumerOptions;
using client::Producer;
using client::RankStep;

template <typename Message>
Message Parsed(const nb::bytes& bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) {
    throw StatusError(InvalidField("message", absl::StrCat(bytes.size(), " bytes"),
                                   Message::descriptor()->full_name()));
  }
  return message;
}

using HeldConsumer = HeldSession<Consumer>;
using HeldProducer = HeldSession<Producer>;

// None where the job is drained. `look` is called while there is no step yet.
std::optional<RankStep> Next(const HeldConsumer& consumer,
                             const nb::typed<nb::callable, void()>& look) {
  absl::StatusOr<std::optional<RankStep>> step;
  Interruptibly([&] { step = consumer->Next(); }, [&] { consumer->Cancel(); },
                [&] { look(); });
  return ValueOrThrow(std::move(step));
}

// Step and epoch.
std::optional<std::tuple<uint64_t, uint64_t>> UnconfirmedMark(
    const HeldConsumer& consumer) {
  const InterpreterReleased release;
  const auto mark = consumer->unconfirmed_mark();
  if (!mark.has_value()) return std::nullopt;
  return std::make_tuple(mark->step, mark->epoch);
}

// seconds, first_step_seconds, steps_taken.
std::tuple<double, double, uint64_t> WaitOf(const HeldConsumer& consumer) {
  const InterpreterReleased release;
  const client::StepWait wait = consumer->step_wait();
  return {wait.seconds, wait.first_step_seconds, wait.steps_taken};
}

void BindConsumer(nb::module_& module) {
  nb::class_<HeldConsumer>(module, "Consumer", nb::is_weak_referenceable())
      .def("next", &Next, nb::arg("look"))
      .def(
          "acknowledge_durable",
          [](const HeldConsumer& consumer, uint64_t step) {
            absl::Status status;
            Interruptibly([&] { status = consumer->AcknowledgeDurable(step); }, [] {});
            ThrowIfError(status);
          },
          nb::arg("step"))
      .def_prop_ro("durable_steps",
                   [](const HeldConsumer& consumer) {
                     const InterpreterReleased release;
                     return consumer->durable_steps();
                   })
      .def_prop_ro("unconfirmed_mark", &UnconfirmedMark)
      .def_prop_ro("buffered_steps",
                   [](const HeldConsumer& consumer) {
                     const InterpreterReleased release;
                     return consumer->buffered_steps();
                   })
      .def_prop_ro("step_wait", &WaitOf)
      .def(
          "report_latency",
          [](const HeldConsumer& consumer, uint64_t step, uint32_t micro_batch,
             int64_t forward_ns, int64_t backward_ns) {
            client::MeasuredLatency latency;
            latency.step = step;
            latency.micro_batch = micro_batch;
            latency.forward_ns = forward_ns;
            latency.backward_ns = backward_ns;
            Interruptibly([&] { consumer->ReportLatency(latency); }, [] {});
          },
          nb::arg("step"), nb::arg("micro_batch"), nb::arg("forward_ns"),
          nb::arg("backward_ns"))
      .def("close",
           [](const HeldConsumer& consumer) {
             absl::Status status;
             Interruptibly([&] { status = consumer->Close(); },
                           [&] { consumer->Cancel(); });
             ThrowIfError(status);
           })
      .def("cancel",
           [](const HeldConsumer& consumer) {
             Interruptibly([&] { consumer->Cancel(); }, [] {});
           })
      .def("end", &HeldConsumer::End);
}

// Path, bytes of a token id, and where each document's begin.
using GivenTokenFile = std::tuple<std::string, uint32_t, GivenColumn<uint64_t>>;

client::DocumentColumns Columns(const GivenColumn<uint32_t>& lengths,
                                const std::optional<GivenColumn<uint64_t>>& ids,
                                const std::optional<GivenColumn<uint32_t>>& loss_tokens,
                                const std::optional<GivenColumn<uint32_t>>& sources,
                                const std::optional<GivenColumn<uint32_t>>& token_ids,
                                const std::optional<GivenTokenFile>& token_file) {
  client::DocumentColumns columns;
  columns.length = FromColumn(lengths);
  if (ids.has_value()) columns.id = FromColumn(*ids);
  if (loss_tokens.has_value()) columns.loss_tokens = FromColumn(*loss_tokens);
  if (sources.has_value()) columns.source = FromColumn(*sources);
  if (token_ids.has_value()) columns.token_ids = FromColumn(*token_ids);
  if (token_file.has_value()) {
    const auto& [path, token_bytes, offset] = *token_file;
    columns.token_file = {path, token_bytes, FromColumn(offset)};
  }
  return columns;
}

// A blocking call of a producer.
void Producing(const HeldProducer& producer,
               const std::function<absl::Status()>& work) {
  absl::Status status;
  Interruptibly([&] { status = work(); }, [&] { producer->Cancel(); });
  ThrowIfError(status);
}

void BindProducer(nb::module_& module) {
  nb::class_<HeldProducer>(module, "Producer", nb::is_weak_referenceable())
      .def(
          "add",
          [](const HeldProducer& producer, const GivenColumn<uint32_t>& lengths,
             const std::optional<GivenColumn<uint64_t>>& ids,
             const std::optional<GivenColumn<uint32_t>>& loss_tokens,
             const std::optional<GivenColumn<uint32_t>>& sources,
             const std::optional<GivenColumn<uint32_t>>& token_ids,
             const std::optional<GivenTokenFile>& token_file) {
            const client::DocumentColumns columns =
                Columns(lengths, ids, loss_tokens, sources, token_ids, token_file);
            Producing(producer, [&] { return producer->Add(columns); });
          },
          nb::arg("lengths"), nb::arg("ids").none(), nb::arg("loss_tokens").none(),
          nb::arg("sources").none(), nb::arg("token_ids").none(),
          nb::arg("token_file").none())
      .def("flush",
           [](const HeldProducer& producer) {
             Producing(producer, [&] { return producer->Flush(); });
           })
      .def("end_of_stream",
           [](const HeldProducer& producer) {
             Producing(producer, [&] { return producer->EndOfStream(); });
           })
      .def_prop_ro("next_sequence",
                   [](const HeldProducer& producer) {
                     const InterpreterReleased release;
                     return producer->next_sequence();
                   })
      .def_prop_ro("accepted_sequence",
                   [](const HeldProducer& producer) {
                     const InterpreterReleased release;
                     return producer->accepted_sequence();
                   })
      .def("cancel",
           [](const HeldProducer& producer) {
             Interruptibly([&] { producer->Cancel(); }, [] {});
           })
      .def("end", &HeldProducer::End);
}

// The bytes of what call(client) answers.
template <typename Call>
nb::bytes Answered(const HeldClient& client, const Call& call) {
  return ToBytes(
      ValueOrThrow(client.Do([&](Client& asked) -> absl::StatusOr<std::string> {
        const auto answer = call(asked);
        if (!answer.ok()) return answer.status();
        return answer->SerializeAsString();
      })));
}

HeldClient Connect(const std::string& address, const nb::object& transport_at,
                   double backoff_seconds,
                   const nb::typed<nb::callable, void(nb::str)>& write_retry) {
  client::ClientOptions options;
  const auto given = client::ServerAddresses("address", address);
  ThrowIfError(given.status());
  options.backoff.total = FromSeconds(backoff_seconds);
  ThrowIfError(Validate(options.backoff));
  options.on_retry = MakePythonRetryListener(write_retry);
  return {MakePythonStub(*given, transport_at), options};
}

// Held at once: one that is dropped, of a call that was interrupted, ends in a thread
// without the interpreter's lock.
template <typename Session, typename Open>
std::unique_ptr<HeldSession<Session>> Opened(const HeldClient& client,
                                             const Open& open) {
  using Held = std::unique_ptr<HeldSession<Session>>;
  return ValueOrThrow(client.Do([&](Client& of) -> absl::StatusOr<Held> {
    absl::StatusOr<std::unique_ptr<Session>> session = open(of);
    if (!session.ok()) return session.status();
    return std::make_unique<HeldSession<Session>>(*std::move(session));
  }));
}

std::unique_ptr<HeldConsumer> OpenConsumer(
    const HeldClient& client, const std::string& job, uint32_t dp_rank,
    std::optional<uint32_t> cp_rank, const std::string& subscriber, bool sends_durable,
    std::optional<uint64_t> from_step, const std::optional<nb::bytes>& last_digest,
    std::optional<uint64_t> last_epoch, int layout, uint32_t credits,
    uint64_t max_buffered_bytes, bool follow_epochs) {
  ConsumerOptions options;
  options.job = job;
  options.dp_rank = dp_rank;
  options.cp_rank = cp_rank;
  options.subscriber = subscriber;
  options.sends_durable = sends_durable;
  options.from_step = from_step;
  if (last_digest.has_value()) {
    options.last_digest = DigestFromBytes({last_digest->c_str(), last_digest->size()});
    if (!options.last_digest.has_value()) {
      throw StatusError(InvalidField(
          "last_digest", absl::StrCat(last_digest->size(), " bytes"), "16 bytes"));
    }
  }
  options.last_epoch = last_epoch;
  options.layout = static_cast<v1::Layout>(layout);
  options.credits = credits;
  options.max_buffered_bytes = max_buffered_bytes;
  options.follow_epochs = follow_epochs;
  return Opened<Consumer>(client, [&](Client& of) { return of.OpenConsumer(options); });
}

std::unique_ptr<HeldProducer> OpenProducer(const HeldClient& client,
                                           const std::string& job,
                                           const std::string& stream,
                                           std::optional<uint64_t> from_sequence) {
  client::ProducerOptions options;
  options.job = job;
  options.stream = stream;
  options.from_sequence = from_sequence;
  return Opened<Producer>(client, [&](Client& of) { return of.OpenProducer(options); });
}

std::unique_ptr<HeldMember> JoinGroup(const HeldClient& held, const std::string& job,
                                      uint32_t dp_rank, uint32_t cp_size,
                                      uint32_t cp_rank, const std::string& member) {
  client::GroupOptions options;
  options.job = job;
  options.dp_rank = dp_rank;
  options.cp_size = cp_size;
  options.cp_rank = cp_rank;
  options.member = member;
  return Opened<client::GroupMember>(held,
                                     [&](Client& of) { return of.JoinGroup(options); });
}

// What changes a job's past, or lets go of it.
void BindHistory(nb::class_<HeldClient>& bound) {
  bound
      .def(
          "rewind_job",
          [](const HeldClient& client, const nb::bytes& request) {
            const auto parsed = Parsed<v1::RewindJobRequest>(request);
            return Answered(client, [&](Client& of) { return of.RewindJob(parsed); });
          },
          nb::arg("request"))
      .def(
          "fork_job",
          [](const HeldClient& client, const nb::bytes& request) {
            const auto parsed = Parsed<v1::ForkJobRequest>(request);
            return Answered(client, [&](Client& of) { return of.ForkJob(parsed); });
          },
          nb::arg("request"))
      .def(
          "skip_documents",
          [](const HeldClient& client, const nb::bytes& request) {
            const auto parsed = Parsed<v1::SkipDocumentsRequest>(request);
            return Answered(client,
                            [&](Client& of) { return of.SkipDocuments(parsed); });
          },
          nb::arg("request"))
      .def(
          "acknowledge",
          [](const HeldClient& client, const nb::bytes& request) {
            const auto parsed = Parsed<v1::AcknowledgeRequest>(request);
            return ValueOrThrow(
                client.Do([&](Client& of) { return of.Acknowledge(parsed); }));
          },
          nb::arg("request"));
}

// What it opens.
void BindSessions(nb::class_<HeldClient>& bound) {
  bound
      .def("open_consumer", &OpenConsumer, nb::arg("job"), nb::arg("dp_rank"),
           nb::arg("cp_rank").none(), nb::arg("subscriber"), nb::arg("sends_durable"),
           nb::arg("from_step").none(), nb::arg("last_digest").none(),
           nb::arg("last_epoch").none(), nb::arg("layout"), nb::arg("credits"),
           nb::arg("max_buffered_bytes"), nb::arg("follow_epochs"))
      .def("open_producer", &OpenProducer, nb::arg("job"), nb::arg("stream"),
           nb::arg("from_sequence").none())
      .def("join_group", &JoinGroup, nb::arg("job"), nb::arg("dp_rank"),
           nb::arg("cp_size"), nb::arg("cp_rank"), nb::arg("member"));
}

// What Python's own transport shares with that over gRPC's C++.
void BindTransport(nb::module_& module) {
  module.def(
      "is_local_address",
      [](const std::string& addresses) { return client::IsLocalAddress(addresses); },
      nb::arg("addresses"), "Whether an address is one of this machine.");
  module.def(
      "is_handshake_refusal",
      [](const std::string& message) { return client::IsHandshakeRefusal(message); },
      nb::arg("message"),
      "Whether gRPC's message is of ends that don't agree on certificates or TLS.");
  // For calls that Python makes by itself.
  module.def(
      "raise_status",
      [](int code, const std::string& message, const nb::bytes& details) {
        ThrowIfError(client::StatusFromWire(code, message, ToText(details)));
      },
      nb::arg("code"), nb::arg("message"), nb::arg("details"),
      "Raises what a call ended with, if that is an error: the bytes are of a\n"
      "google.rpc.Status.");
}

}  // namespace

void BindClient(nb::module_& module) {
  BindTransport(module);
  BindConsumer(module);
  BindProducer(module);
  // Taken by the worker's module, which has no API of the wire.
  nb::class_<HeldMember>(module, "GroupMember").def("end", &HeldMember::End);
  nb::class_<HeldClient> bound(module, "Client");
  bound
      .def_static("connect", &Connect, nb::arg("address"), nb::arg("transport_at"),
                  nb::arg("backoff_seconds"), nb::arg("write_retry"))
      .def(
          "create_job",
          [](const HeldClient& client, const std::string& name, const nb::bytes& spec) {
            const auto parsed = Parsed<v1::JobSpec>(spec);
            return Answered(client,
                            [&](Client& of) { return of.CreateJob(name, parsed); });
          },
          nb::arg("name"), nb::arg("spec"))
      .def(
          "get_job",
          [](const HeldClient& client, const std::string& name) {
            return Answered(client, [&](Client& of) { return of.GetJob(name); });
          },
          nb::arg("name"))
      .def("list_jobs",
           [](const HeldClient& client) {
             return Answered(client, [&](Client& of) { return of.ListJobs(); });
           })
      .def(
          "update_job",
          [](const HeldClient& client, const nb::bytes& request) {
            const auto parsed = Parsed<v1::UpdateJobRequest>(request);
            return Answered(client, [&](Client& of) { return of.UpdateJob(parsed); });
          },
          nb::arg("request"))
      .def(
          "delete_job",
          [](const HeldClient& client, const std::string& name) {
            ThrowIfError(client.Do([&](Client& of) { return of.DeleteJob(name); }));
          },
          nb::arg("name"))
      .def(
          "checkpoint_job",
          [](const HeldClient& client, const std::string& name, uint64_t step) {
            return Answered(client,
                            [&](Client& of) { return of.CheckpointJob(name, step); });
          },
          nb::arg("name"), nb::arg("step"))
      .def(
          "restore_job",
          [](const HeldClient& client, const std::string& name,
             const nb::bytes& checkpoint) {
            const std::string bytes = ToText(checkpoint);
            return Answered(client,
                            [&](Client& of) { return of.RestoreJob(name, bytes); });
          },
          nb::arg("name"), nb::arg("checkpoint"));
  BindSessions(bound);
  BindHistory(bound);
}

}  // namespace evenpack::python
