// A PackingService that does what a test says, on a socket of its own.
#ifndef EVENPACK_TESTS_CLIENT_CPP_SCRIPTED_SERVICE_H_
#define EVENPACK_TESTS_CLIENT_CPP_SCRIPTED_SERVICE_H_

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.grpc.pb.h"

namespace evenpack::testing {

// Handlers are set before the server is started; RPCs without one are UNIMPLEMENTED.
// Each call has a thread of gRPC's.
class ScriptedService final : public v1::PackingService::Service {
 public:
  template <typename Request, typename Response>
  using Unary = std::function<grpc::Status(const Request&, Response&)>;
  using IngestCall = grpc::ServerReaderWriter<v1::IngestResponse, v1::IngestRequest>;
  using StepCall =
      grpc::ServerReaderWriter<v1::StreamStepsResponse, v1::StreamStepsRequest>;

  Unary<v1::CreateJobRequest, v1::CreateJobResponse> create_job;
  Unary<v1::GetJobRequest, v1::GetJobResponse> get_job;
  Unary<v1::ListJobsRequest, v1::ListJobsResponse> list_jobs;
  Unary<v1::UpdateJobRequest, v1::UpdateJobResponse> update_job;
  Unary<v1::DeleteJobRequest, v1::DeleteJobResponse> delete_job;
  Unary<v1::GetStepRequest, v1::GetStepResponse> get_step;
  Unary<v1::AcknowledgeRequest, v1::AcknowledgeResponse> acknowledge;
  Unary<v1::ReportLatencyRequest, v1::ReportLatencyResponse> report_latency;
  Unary<v1::ObserveJobRequest, v1::ObserveJobResponse> observe_job;
  Unary<v1::ObserveMicroBatchRequest, v1::ObserveMicroBatchResponse>
      observe_micro_batch;
  std::function<grpc::Status(grpc::ServerContext&, IngestCall&)> ingest;
  std::function<grpc::Status(grpc::ServerContext&, StepCall&)> stream_steps;

 private:
  using Context = grpc::ServerContext;

  template <typename Handler, typename... Arguments>
  static grpc::Status Run(const Handler& handler, Arguments&&... arguments) {
    if (!handler) return {grpc::StatusCode::UNIMPLEMENTED, "no handler"};
    return handler(std::forward<Arguments>(arguments)...);
  }

  grpc::Status CreateJob(Context*, const v1::CreateJobRequest* request,
                         v1::CreateJobResponse* response) override {
    return Run(create_job, *request, *response);
  }
  grpc::Status GetJob(Context*, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override {
    return Run(get_job, *request, *response);
  }
  grpc::Status ListJobs(Context*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    return Run(list_jobs, *request, *response);
  }
  grpc::Status UpdateJob(Context*, const v1::UpdateJobRequest* request,
                         v1::UpdateJobResponse* response) override {
    return Run(update_job, *request, *response);
  }
  grpc::Status DeleteJob(Context*, const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse* response) override {
    return Run(delete_job, *request, *response);
  }
  grpc::Status GetStep(Context*, const v1::GetStepRequest* request,
                       v1::GetStepResponse* response) override {
    return Run(get_step, *request, *response);
  }
  grpc::Status Acknowledge(Context*, const v1::AcknowledgeRequest* request,
                           v1::AcknowledgeResponse* response) override {
    return Run(acknowledge, *request, *response);
  }
  grpc::Status ReportLatency(Context*, const v1::ReportLatencyRequest* request,
                             v1::ReportLatencyResponse* response) override {
    return Run(report_latency, *request, *response);
  }
  grpc::Status ObserveJob(Context*, const v1::ObserveJobRequest* request,
                          v1::ObserveJobResponse* response) override {
    return Run(observe_job, *request, *response);
  }
  grpc::Status ObserveMicroBatch(Context*, const v1::ObserveMicroBatchRequest* request,
                                 v1::ObserveMicroBatchResponse* response) override {
    return Run(observe_micro_batch, *request, *response);
  }
  grpc::Status Ingest(Context* context, IngestCall* call) override {
    return Run(ingest, *context, *call);
  }
  grpc::Status StreamSteps(Context* context, StepCall* call) override {
    return Run(stream_steps, *context, *call);
  }
};

// Listens from Start() on; calls that are left at the end are cancelled.
class ScriptedServer {
 public:
  ScriptedServer();
  ~ScriptedServer() { Stop(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  ScriptedService& service() { return service_; }
  // The same before and after a Stop().
  const std::string& address() const { return address_; }
  void Start();
  // Cuts all connections and ends all handlers.
  void Stop();

 private:
  const std::string path_;
  const std::string address_;
  ScriptedService service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_SCRIPTED_SERVICE_H_
