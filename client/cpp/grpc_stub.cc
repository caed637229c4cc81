#include "client/cpp/grpc_stub.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/grpc_status.h"
#include "client/cpp/grpc_stream.h"
#include "client/cpp/routed_stub.h"
#include "client/cpp/secured_channel.h"
#include "client/cpp/server_addresses.h"
#include "evenpack/v1/cost_profile.grpc.pb.h"
#include "evenpack/v1/packing_service.grpc.pb.h"

namespace evenpack::client {
namespace {

using Service = v1::PackingService;
using ProfileService = v1::CostProfileService;
using Calls = Service::StubInterface::async_interface;
using ProfileCalls = ProfileService::StubInterface::async_interface;

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

class GrpcStub final : public Stub {
 public:
  explicit GrpcStub(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(Service::NewStub(channel)), profiles_(ProfileService::NewStub(channel)) {}

  absl::StatusOr<v1::CreateJobResponse> CreateJob(const v1::CreateJobRequest& request,
                                                  const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::CreateJob, request, options);
  }
  absl::StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request,
                                            const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::GetJob, request, options);
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request,
                                                const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::ListJobs, request, options);
  }
  absl::StatusOr<v1::UpdateJobResponse> UpdateJob(const v1::UpdateJobRequest& request,
                                                  const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::UpdateJob, request, options);
  }
  absl::StatusOr<v1::DeleteJobResponse> DeleteJob(const v1::DeleteJobRequest& request,
                                                  const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::DeleteJob, request, options);
  }
  absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(
      const v1::CheckpointJobRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::CheckpointJob, request, options);
  }
  absl::StatusOr<v1::RestoreJobResponse> RestoreJob(
      const v1::RestoreJobRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::RestoreJob, request, options);
  }
  absl::StatusOr<v1::RewindJobResponse> RewindJob(const v1::RewindJobRequest& request,
                                                  const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::RewindJob, request, options);
  }
  absl::StatusOr<v1::ForkJobResponse> ForkJob(const v1::ForkJobRequest& request,
                                              const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::ForkJob, request, options);
  }
  absl::StatusOr<v1::SkipDocumentsResponse> SkipDocuments(
      const v1::SkipDocumentsRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::SkipDocuments, request, options);
  }
  absl::StatusOr<v1::GetStepResponse> GetStep(const v1::GetStepRequest& request,
                                              const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::GetStep, request, options);
  }
  absl::StatusOr<v1::AcknowledgeResponse> Acknowledge(
      const v1::AcknowledgeRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::Acknowledge, request, options);
  }
  absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::ReportLatency, request, options);
  }
  absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::GetLatency, request, options);
  }
  absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request, const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::ObserveJob, request, options);
  }
  absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request,
      const CallOptions& options) override {
    return Call(*stub_->async(), &Calls::ObserveMicroBatch, request, options);
  }
  absl::StatusOr<v1::PutCostProfileResponse> PutCostProfile(
      const v1::PutCostProfileRequest& request, const CallOptions& options) override {
    return Call(*profiles_->async(), &ProfileCalls::PutCostProfile, request, options);
  }
  absl::StatusOr<v1::GetCostProfileResponse> GetCostProfile(
      const v1::GetCostProfileRequest& request, const CallOptions& options) override {
    return Call(*profiles_->async(), &ProfileCalls::GetCostProfile, request, options);
  }
  absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles(
      const v1::ListCostProfilesRequest& request, const CallOptions& options) override {
    return Call(*profiles_->async(), &ProfileCalls::ListCostProfiles, request, options);
  }
  absl::StatusOr<v1::DeleteCostProfileResponse> DeleteCostProfile(
      const v1::DeleteCostProfileRequest& request,
      const CallOptions& options) override {
    return Call(*profiles_->async(), &ProfileCalls::DeleteCostProfile, request,
                options);
  }

  std::unique_ptr<IngestStream> Ingest(const std::stop_token& stop) override {
    using Stream = GrpcStream<v1::IngestRequest, v1::IngestResponse>;
    return std::make_unique<Stream>(
        [this](grpc::ClientContext* context, Stream::Reactor* reactor) {
          stub_->async()->Ingest(context, reactor);
        },
        stop);
  }

  std::unique_ptr<StepStream> StreamSteps(const std::stop_token& stop) override {
    using Stream = GrpcStream<v1::StreamStepsRequest, v1::StreamStepsResponse>;
    return std::make_unique<Stream>(
        [this](grpc::ClientContext* context, Stream::Reactor* reactor) {
          stub_->async()->StreamSteps(context, reactor);
        },
        stop);
  }

  std::unique_ptr<GroupStream> JoinGroup(const std::stop_token& stop) override {
    using Stream = GrpcStream<v1::JoinGroupRequest, v1::JoinGroupResponse>;
    return std::make_unique<Stream>(
        [this](grpc::ClientContext* context, Stream::Reactor* reactor) {
          stub_->async()->JoinGroup(context, reactor);
        },
        stop);
  }

 private:
  template <typename AllCalls, typename Request, typename Response>
  using Method = void (AllCalls::*)(grpc::ClientContext*, const Request*, Response*,
                                    std::function<void(grpc::Status)>);

  // Not by a blocking call: gRPC has threads that look at connections only once
  // something is called back, and would see every five seconds else that an attempt to
  // connect has failed.
  template <typename AllCalls, typename Request, typename Response>
  static absl::StatusOr<Response> Call(std::type_identity_t<AllCalls>& calls,
                                       Method<AllCalls, Request, Response> method,
                                       const Request& request,
                                       const CallOptions& options) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options.timeout);
    Response response;
    // The one that sets it may still be at it when this one has it.
    const auto end = std::make_shared<std::promise<grpc::Status>>();
    const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
    (calls.*method)(&context, &request, &response,
                    [end](grpc::Status status) { end->set_value(std::move(status)); });
    const grpc::Status status = end->get_future().get();
    if (!status.ok()) return Ended(status, context, options.timeout);
    return response;
  }

  const std::unique_ptr<Service::Stub> stub_;
  const std::unique_ptr<ProfileService::Stub> profiles_;
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
