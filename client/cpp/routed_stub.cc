#include "client/cpp/routed_stub.h"

#include <utility>

#include "client/cpp/job_of_request.h"
#include "client/cpp/per_server.h"
#include "client/cpp/route.h"
#include "client/cpp/routed_stream.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

class RoutedStub final : public Stub {
 public:
  RoutedStub(std::shared_ptr<LeaderMap> leaders, StubAt stub_at)
      : leaders_(std::move(leaders)), stub_at_(std::move(stub_at)) {}

#define EVENPACK_ROUTED(METHOD)                                                      \
  absl::StatusOr<v1::METHOD##Response> METHOD(const v1::METHOD##Request& request,    \
                                              const CallOptions& options) override { \
    return Call(&Stub::METHOD, request, options);                                    \
  }
  EVENPACK_ROUTED(CreateJob)
  EVENPACK_ROUTED(GetJob)
  EVENPACK_ROUTED(UpdateJob)
  EVENPACK_ROUTED(DeleteJob)
  EVENPACK_ROUTED(CheckpointJob)
  EVENPACK_ROUTED(RestoreJob)
  EVENPACK_ROUTED(RewindJob)
  EVENPACK_ROUTED(ForkJob)
  EVENPACK_ROUTED(SkipDocuments)
  EVENPACK_ROUTED(GetStep)
  EVENPACK_ROUTED(Acknowledge)
  EVENPACK_ROUTED(ReportLatency)
  EVENPACK_ROUTED(GetLatency)
  EVENPACK_ROUTED(ObserveJob)
  EVENPACK_ROUTED(ObserveMicroBatch)
  EVENPACK_ROUTED(PutCostProfile)
  EVENPACK_ROUTED(GetCostProfile)
  EVENPACK_ROUTED(ListCostProfiles)
  EVENPACK_ROUTED(DeleteCostProfile)
#undef EVENPACK_ROUTED

  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request,
                                                const CallOptions& options) override {
    absl::StatusOr<v1::ListJobsResponse> listed =
        Call(&Stub::ListJobs, request, options);
    if (!listed.ok()) return listed;
    for (const v1::JobPlace& place : listed->led_elsewhere()) {
      if (!place.address().empty()) leaders_->LedAt(place.name(), place.address());
    }
    return listed;
  }

  std::unique_ptr<IngestStream> Ingest(const std::stop_token& stop) override {
    return Open(&Stub::Ingest, stop);
  }
  std::unique_ptr<StepStream> StreamSteps(const std::stop_token& stop) override {
    return Open(&Stub::StreamSteps, stop);
  }
  std::unique_ptr<GroupStream> JoinGroup(const std::stop_token& stop) override {
    return Open(&Stub::JoinGroup, stop);
  }

 private:
  template <typename Request, typename Response>
  using Unary = absl::StatusOr<Response> (Stub::*)(const Request&, const CallOptions&);
  template <typename Request, typename Response>
  using Streaming = std::unique_ptr<MessageStream<Request, Response>> (Stub::*)(
      const std::stop_token&);

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Unary<Request, Response> method, const Request& request,
                                const CallOptions& options) {
    Route route(*leaders_, JobOfRequest(request));
    for (;;) {
      const std::shared_ptr<Stub> stub = stub_at_(route.address());
      absl::StatusOr<Response> response = ((*stub).*method)(request, options);
      if (response.ok()) return response;
      if (!route.Follow(response.status())) return route.Explained(response.status());
    }
  }

  template <typename Request, typename Response>
  std::unique_ptr<MessageStream<Request, Response>> Open(
      Streaming<Request, Response> method, const std::stop_token& stop) {
    using Routed = RoutedStream<Request, Response>;
    return std::make_unique<Routed>(leaders_, [stub_at = stub_at_, method,
                                               stop](const std::string& address) {
      std::shared_ptr<Stub> stub = stub_at(address);
      auto stream = ((*stub).*method)(stop);
      // The call goes before its stub.
      auto both = std::make_shared<std::pair<std::shared_ptr<Stub>, decltype(stream)>>(
          std::move(stub), std::move(stream));
      return std::shared_ptr<typename Routed::Stream>(both, both->second.get());
    });
  }

  const std::shared_ptr<LeaderMap> leaders_;
  const StubAt stub_at_;
};

}  // namespace

std::shared_ptr<Stub> MakeRoutedStub(std::shared_ptr<LeaderMap> leaders,
                                     StubAt stub_at) {
  return std::make_shared<RoutedStub>(std::move(leaders), std::move(stub_at));
}

std::shared_ptr<Stub> MakeRoutedStub(const std::vector<std::string>& given,
                                     StubAt make) {
  auto stubs = std::make_shared<PerServer<Stub>>(given, std::move(make));
  return MakeRoutedStub(std::make_shared<LeaderMap>(given),
                        [stubs = std::move(stubs)](const std::string& address) {
                          return stubs->At(address);
                        });
}

}  // namespace evenpack::client
