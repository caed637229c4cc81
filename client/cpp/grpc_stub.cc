#include "client/cpp/grpc_stub.h"

#include <google/protobuf/message.h>
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/answer_bytes.h"
#include "client/cpp/grpc_status.h"
#include "client/cpp/grpc_stream.h"
#include "client/cpp/named_call_stub.h"
#include "client/cpp/routed_stub.h"
#include "client/cpp/secured_channel.h"
#include "client/cpp/server_addresses.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

// Of calls by their names, whose answers come as bytes.
using UnaryStub =
    grpc::TemplatedGenericStub<google::protobuf::Message, grpc::ByteBuffer>;

grpc::ChannelArguments ArgumentsOf(const ClientOptions& options) {
  const auto milliseconds = [](std::chrono::milliseconds duration) {
    return static_cast<int>(duration.count());
  };
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_message_bytes);
  arguments.SetMaxSendMessageSize(options.max_message_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                   milliseconds(options.keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                   milliseconds(options.keepalive_timeout));
  // A stream of steps may be silent for as long as a step takes.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // How long calls fail without an attempt to connect: short, since it comes on top of
  // the waits of our own back-off.
  constexpr int kMaxConnectBackoffMs = 1000;
  arguments.SetInt(
      GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
      std::min(milliseconds(options.backoff.initial), kMaxConnectBackoffMs));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxConnectBackoffMs);
  // After which another server is asked, where there is one.
  constexpr int kConnectTimeoutMs = 5000;
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  // A pod that was started again has another address under its name.
  constexpr int kNameLookupsApartMs = 5000;
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kNameLookupsApartMs);
  return arguments;
}

// gRPC itself says of a call that ended at its deadline just that, not whose answer was
// waited for.
absl::Status Ended(const grpc::Status& status, const grpc::ClientContext& context,
                   std::chrono::milliseconds timeout) {
  const bool is_its_own = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
                          status.error_details().empty();
  if (!is_its_own) return FromGrpcStatus(status);
  const std::string peer = context.peer();
  return absl::DeadlineExceededError(absl::StrCat(
      peer.empty() ? "the server" : peer, " did not answer within ",
      absl::FormatDuration(absl::FromChrono(timeout)), ": ", status.error_message()));
}

class GrpcStub final : public NamedCallStub {
 public:
  explicit GrpcStub(std::shared_ptr<grpc::Channel> channel)
      : channel_(std::move(channel)) {}

  std::unique_ptr<IngestStream> Ingest(const std::stop_token& stop) override {
    return Open<v1::IngestRequest, v1::IngestResponse>("Ingest", stop);
  }
  std::unique_ptr<StepStream> StreamSteps(const std::stop_token& stop) override {
    return Open<v1::StreamStepsRequest, v1::StreamStepsResponse>("StreamSteps", stop);
  }
  std::unique_ptr<GroupStream> JoinGroup(const std::stop_token& stop) override {
    return Open<v1::JoinGroupRequest, v1::JoinGroupResponse>("JoinGroup", stop);
  }

 private:
  // Not by a blocking call: gRPC has threads that look at connections only once
  // something is called back, and would see every five seconds else that an attempt to
  // connect has failed.
  absl::Status Call(const char* path, const google::protobuf::Message& request,
                    const CallOptions& options,
                    google::protobuf::Message& answer) override {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options.timeout);
    grpc::ByteBuffer bytes;
    // The one that sets it may still be at it when this one has it.
    const auto end = std::make_shared<std::promise<grpc::Status>>();
    const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
    UnaryStub(channel_).UnaryCall(
        &context, path, {}, &request, &bytes,
        [end](grpc::Status status) { end->set_value(std::move(status)); });
    const grpc::Status status = end->get_future().get();
    if (!status.ok()) return Ended(status, context, options.timeout);
    return ReadAnswer(path, bytes, answer);
  }

  template <typename Request, typename Response>
  std::unique_ptr<MessageStream<Request, Response>> Open(const std::string& method,
                                                         const std::stop_token& stop) {
    return std::make_unique<GrpcStream<Request, Response>>(
        channel_, "/evenpack.v1.PackingService/" + method, stop);
  }

  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace

std::shared_ptr<grpc::Channel> MakeGrpcChannel(const ClientOptions& options) {
  // With this reference, which is never given back, gRPC isn't shut down with the last
  // channel: that can wait 10 seconds for one of its pollers.
  static const bool kInitialised = (grpc_init(), true);
  static_cast<void>(kInitialised);
  return MakeSecuredChannel(options, ArgumentsOf(options));
}

std::shared_ptr<Stub> MakeGrpcStub(const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_shared<GrpcStub>(channel);
}

std::shared_ptr<Stub> MakeGrpcStub(const ClientOptions& options) {
  return MakeRoutedStub(*ServerAddresses("address", options.address),
                        [options](const std::string& address) {
                          ClientOptions of = options;
                          of.address = address;
                          return MakeGrpcStub(MakeGrpcChannel(of));
                        });
}

}  // namespace evenpack::client
