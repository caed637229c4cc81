#include "client/python/bindings/python_stub.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/named_call_stub.h"
#include "client/cpp/routed_stub.h"
#include "client/cpp/wire_status.h"
#include "client/python/bindings/interpreter_lock.h"
#include "client/python/bindings/python_bytes.h"
#include "client/python/bindings/shared_object.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::python {
namespace {

namespace nb = nanobind;

// Code, message, bytes of a google.rpc.Status.
using WireStatus = std::tuple<int, std::string, nb::bytes>;

absl::Status ToStatus(const nb::object& status) {
  const auto [code, message, details] = nb::cast<WireStatus>(status);
  return client::StatusFromWire(code, message, ToText(details));
}

// Runs `work` under the interpreter's lock. INTERNAL: the transport's own code failed,
// which it should not.
template <typename Work>
absl::Status InPython(const Work& work) {
  const InterpreterHeld acquire;
  try {
    OrStandStill(work);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("evenpack.transport: ", error.what()));
  }
}

// The transport of a server, which is made when it is first used: a server that another
// one names is met in a thread that has no Python to raise an error in, and under locks
// that are not to be held while the interpreter's is waited for.
class ServerTransport {
 public:
  ServerTransport(SharedObject transport_at, std::string address)
      : transport_at_(std::move(transport_at)), address_(std::move(address)) {}
  ~ServerTransport() {
    const InterpreterHeld acquire;
    transport_.reset();
  }
  ServerTransport(const ServerTransport&) = delete;
  ServerTransport& operator=(const ServerTransport&) = delete;

  // Under the interpreter's lock; throws what Python raises.
  const nb::object& Get() {
    if (!transport_.is_valid()) transport_ = (*transport_at_)(address_);
    return transport_;
  }

 private:
  const SharedObject transport_at_;
  const std::string address_;
  nb::object transport_;
};

// A call of the transport; its reference is given back under the interpreter's lock.
class PythonCall {
 public:
  // start(transport) begins it.
  template <typename Start>
  PythonCall(ServerTransport& transport, const Start& start) {
    status_ = InPython([&] { call_ = start(transport.Get()); });
  }
  ~PythonCall() {
    const InterpreterHeld acquire;
    call_.reset();
  }
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;

  // Why it was not begun.
  const absl::Status& status() const { return status_; }

  template <typename... Arguments>
  absl::Status Do(const char* method, const Arguments&... arguments) const {
    return Ask(
        method, [](const nb::object&) {}, arguments...);
  }
  absl::Status Write(const std::string& bytes) const {
    if (!status_.ok()) return status_;
    return InPython([&] { call_.attr("write")(ToBytes(bytes)); });
  }
  // use(result) under the lock.
  template <typename Use, typename... Arguments>
  absl::Status Ask(const char* method, const Use& use,
                   const Arguments&... arguments) const {
    if (!status_.ok()) return status_;
    return InPython([&] { use(call_.attr(method)(arguments...)); });
  }

 private:
  nb::object call_;
  absl::Status status_;
};

template <typename Request, typename Response>
class PythonStream final : public client::MessageStream<Request, Response> {
 public:
  PythonStream(ServerTransport& transport, const char* method,
               const std::stop_token& stop)
      : call_(transport,
              [&](const nb::object& over) { return over.attr("open")(method); }),
        cancel_(stop, [this] { Cancel(); }) {}
  ~PythonStream() override { Cancel(); }

  // What these refuse shows when the call is read.
  void Write(const Request& message) override {
    call_.Write(message.SerializeAsString()).IgnoreError();
  }
  void WritesDone() override { call_.Do("writes_done").IgnoreError(); }
  void AwaitUnsentBelow(size_t messages) override {
    call_.Do("await_unsent_below", messages).IgnoreError();
  }
  size_t unsent() const override {
    size_t messages = 0;
    call_.Ask("unsent", [&](const nb::object& n) { messages = nb::cast<size_t>(n); })
        .IgnoreError();
    return messages;
  }

  bool Read(Response& message) override {
    std::optional<std::string> bytes;
    broken_ = call_.Ask("read", [&](const nb::object& read) {
      if (!read.is_none()) bytes = ToText(nb::cast<nb::bytes>(read));
    });
    if (!broken_.ok() || !bytes.has_value()) return false;
    if (message.ParseFromString(*bytes)) return true;
    broken_ = absl::DataLossError("the server sent what is no message of this call");
    return false;
  }
  absl::Status Finish() override {
    if (!broken_.ok()) return broken_;
    absl::Status ended;
    const absl::Status asked = call_.Ask(
        "finish", [&](const nb::object& status) { ended = ToStatus(status); });
    return asked.ok() ? ended : asked;
  }

 private:
  void Cancel() { call_.Do("cancel").IgnoreError(); }

  PythonCall call_;
  const std::stop_callback<std::function<void()>> cancel_;
  absl::Status broken_;
};

class PythonStub final : public client::NamedCallStub {
 public:
  PythonStub(SharedObject transport_at, std::string address)
      : transport_(std::move(transport_at), std::move(address)) {}

  // Makes the transport now, under the interpreter's lock; throws what Python raises.
  void Begin() { transport_.Get(); }

  std::unique_ptr<client::IngestStream> Ingest(const std::stop_token& stop) override {
    return Open<v1::IngestRequest, v1::IngestResponse>("Ingest", stop);
  }
  std::unique_ptr<client::StepStream> StreamSteps(
      const std::stop_token& stop) override {
    return Open<v1::StreamStepsRequest, v1::StreamStepsResponse>("StreamSteps", stop);
  }
  std::unique_ptr<client::GroupStream> JoinGroup(const std::stop_token& stop) override {
    return Open<v1::JoinGroupRequest, v1::JoinGroupResponse>("JoinGroup", stop);
  }

 private:
  absl::Status Call(const char* path, const google::protobuf::Message& request,
                    const client::CallOptions& options,
                    google::protobuf::Message& answer) override {
    const std::string bytes = request.SerializeAsString();
    const double seconds = std::chrono::duration<double>(options.timeout).count();
    const PythonCall call(transport_, [&](const nb::object& transport) {
      return transport.attr("call")(path, ToBytes(bytes), seconds);
    });
    const std::stop_callback<std::function<void()>> cancel(
        options.stop, [&call] { call.Do("cancel").IgnoreError(); });
    absl::Status status;
    std::string answered;
    absl::Status asked = call.Ask("finish", [&](const nb::object& finished) {
      status = ToStatus(finished[0]);
      answered = ToText(nb::cast<nb::bytes>(finished[1]));
    });
    if (!asked.ok()) return asked;
    if (!status.ok() || answer.ParseFromString(answered)) return status;
    return absl::DataLossError(absl::StrCat(path, ": the answer is no message of it"));
  }

  template <typename Request, typename Response>
  std::unique_ptr<client::MessageStream<Request, Response>> Open(
      const char* method, const std::stop_token& stop) {
    return std::make_unique<PythonStream<Request, Response>>(transport_, method, stop);
  }

  ServerTransport transport_;
};

}  // namespace

std::shared_ptr<client::Stub> MakePythonStub(const std::vector<std::string>& given,
                                             const nb::object& transport_at) {
  const SharedObject shared = Share(transport_at);
  std::map<std::string, std::shared_ptr<client::Stub>> made;
  for (const std::string& address : given) {
    auto stub = std::make_shared<PythonStub>(shared, address);
    stub->Begin();
    made[address] = std::move(stub);
  }
  return client::MakeRoutedStub(
      given,
      [shared, made = std::move(made)](
          const std::string& address) -> std::shared_ptr<client::Stub> {
        const auto found = made.find(address);
        if (found != made.end()) return found->second;
        return std::make_shared<PythonStub>(shared, address);
      });
}

}  // namespace evenpack::python
