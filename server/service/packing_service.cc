#include "server/service/packing_service.h"

#include <grpcpp/grpcpp.h>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/service/group_call.h"
#include "server/service/history_calls.h"
#include "server/service/ingest_call.h"
#include "server/service/job_calls.h"
#include "server/service/latency_calls.h"
#include "server/service/observe_calls.h"
#include "server/service/steps_call.h"
#include "server/service/unary_answer.h"

namespace evenpack {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;
// Streams take and give bytes (message_bytes.h); everything else messages.
using Rpc = v1::PackingService;
using Streams =
    Rpc::WithRawCallbackMethod_Ingest<Rpc::WithRawCallbackMethod_StreamSteps<
        Rpc::WithRawCallbackMethod_JoinGroup<Rpc::Service>>>;
using Steps = Rpc::WithCallbackMethod_GetStep<
    Rpc::WithCallbackMethod_Acknowledge<Rpc::WithCallbackMethod_ReportLatency<
        Rpc::WithCallbackMethod_GetLatency<Streams>>>>;
using Observations = Rpc::WithCallbackMethod_ObserveJob<
    Rpc::WithCallbackMethod_ObserveMicroBatch<Steps>>;
using Checkpoints = Rpc::WithCallbackMethod_CheckpointJob<
    Rpc::WithCallbackMethod_RestoreJob<Observations>>;
using History = Rpc::WithCallbackMethod_RewindJob<Rpc::WithCallbackMethod_ForkJob<
    Rpc::WithCallbackMethod_SkipDocuments<Checkpoints>>>;
using Base = Rpc::WithCallbackMethod_CreateJob<Rpc::WithCallbackMethod_GetJob<
    Rpc::WithCallbackMethod_ListJobs<Rpc::WithCallbackMethod_UpdateJob<
        Rpc::WithCallbackMethod_DeleteJob<History>>>>>;

class PackingService final : public Base {
 public:
  explicit PackingService(const ServiceEnvironment& environment)
      : environment_(environment) {}

  Unary* CreateJob(Context* context, const v1::CreateJobRequest* request,
                   v1::CreateJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* GetJob(Context* context, const v1::GetJobRequest* request,
                v1::GetJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ListJobs(Context* context, const v1::ListJobsRequest* request,
                  v1::ListJobsResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* UpdateJob(Context* context, const v1::UpdateJobRequest* request,
                   v1::UpdateJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* CheckpointJob(Context* context, const v1::CheckpointJobRequest* request,
                       v1::CheckpointJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* RestoreJob(Context* context, const v1::RestoreJobRequest* request,
                    v1::RestoreJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* RewindJob(Context* context, const v1::RewindJobRequest* request,
                   v1::RewindJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ForkJob(Context* context, const v1::ForkJobRequest* request,
                 v1::ForkJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* SkipDocuments(Context* context, const v1::SkipDocumentsRequest* request,
                       v1::SkipDocumentsResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* DeleteJob(Context* context, const v1::DeleteJobRequest* request,
                   v1::DeleteJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* GetStep(Context* context, const v1::GetStepRequest* request,
                 v1::GetStepResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* Acknowledge(Context* context, const v1::AcknowledgeRequest* request,
                     v1::AcknowledgeResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ReportLatency(Context* context, const v1::ReportLatencyRequest* request,
                       v1::ReportLatencyResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* GetLatency(Context* context, const v1::GetLatencyRequest* request,
                    v1::GetLatencyResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ObserveJob(Context* context, const v1::ObserveJobRequest* request,
                    v1::ObserveJobResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  Unary* ObserveMicroBatch(Context* context,
                           const v1::ObserveMicroBatchRequest* request,
                           v1::ObserveMicroBatchResponse* response) override {
    return Answered(environment_, context, *request, *response);
  }
  StreamReactor* Ingest(Context* context) override {
    return StartIngestCall(environment_, *context);
  }
  StreamReactor* StreamSteps(Context* context) override {
    return StartStepsCall(environment_, *context);
  }
  StreamReactor* JoinGroup(Context* context) override {
    return StartGroupCall(environment_, *context);
  }

 private:
  const ServiceEnvironment environment_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePackingService(
    const ServiceEnvironment& environment) {
  return std::make_unique<PackingService>(environment);
}

}  // namespace evenpack
