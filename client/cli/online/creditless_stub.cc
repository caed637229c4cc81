#include "client/cli/online/creditless_stub.h"

#include <utility>

#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

using client::CallOptions;
using client::GroupStream;
using client::IngestStream;
using client::StepStream;
using client::Stub;

class CreditlessStream : public StepStream {
 public:
  explicit CreditlessStream(std::unique_ptr<StepStream> stream)
      : stream_(std::move(stream)) {}

  void Write(const v1::StreamStepsRequest& message) override {
    if (!message.has_received()) stream_->Write(message);
  }
  void WritesDone() override { stream_->WritesDone(); }
  void AwaitUnsentBelow(size_t messages) override {
    stream_->AwaitUnsentBelow(messages);
  }
  size_t unsent() const override { return stream_->unsent(); }
  bool Read(v1::StreamStepsResponse& message) override {
    return stream_->Read(message);
  }
  absl::Status Finish() override { return stream_->Finish(); }

 private:
  const std::unique_ptr<StepStream> stream_;
};

class CreditlessStub : public Stub {
 public:
  explicit CreditlessStub(std::shared_ptr<Stub> stub) : stub_(std::move(stub)) {}

  absl::StatusOr<v1::CreateJobResponse> CreateJob(const v1::CreateJobRequest& request,
                                                  const CallOptions& options) override {
    return stub_->CreateJob(request, options);
  }
  absl::StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request,
                                            const CallOptions& options) override {
    return stub_->GetJob(request, options);
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request,
                                                const CallOptions& options) override {
    return stub_->ListJobs(request, options);
  }
  absl::StatusOr<v1::UpdateJobResponse> UpdateJob(const v1::UpdateJobRequest& request,
                                                  const CallOptions& options) override {
    return stub_->UpdateJob(request, options);
  }
  absl::StatusOr<v1::DeleteJobResponse> DeleteJob(const v1::DeleteJobRequest& request,
                                                  const CallOptions& options) override {
    return stub_->DeleteJob(request, options);
  }
  absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(
      const v1::CheckpointJobRequest& request,
      const client::CallOptions& options) override {
    return stub_->CheckpointJob(request, options);
  }
  absl::StatusOr<v1::RewindJobResponse> RewindJob(
      const v1::RewindJobRequest& request,
      const client::CallOptions& options) override {
    return stub_->RewindJob(request, options);
  }
  absl::StatusOr<v1::ForkJobResponse> ForkJob(
      const v1::ForkJobRequest& request, const client::CallOptions& options) override {
    return stub_->ForkJob(request, options);
  }
  absl::StatusOr<v1::SkipDocumentsResponse> SkipDocuments(
      const v1::SkipDocumentsRequest& request,
      const client::CallOptions& options) override {
    return stub_->SkipDocuments(request, options);
  }
  absl::StatusOr<v1::RestoreJobResponse> RestoreJob(
      const v1::RestoreJobRequest& request,
      const client::CallOptions& options) override {
    return stub_->RestoreJob(request, options);
  }
  absl::StatusOr<v1::GetStepResponse> GetStep(const v1::GetStepRequest& request,
                                              const CallOptions& options) override {
    return stub_->GetStep(request, options);
  }
  absl::StatusOr<v1::AcknowledgeResponse> Acknowledge(
      const v1::AcknowledgeRequest& request, const CallOptions& options) override {
    return stub_->Acknowledge(request, options);
  }
  absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request, const CallOptions& options) override {
    return stub_->ReportLatency(request, options);
  }
  absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request, const CallOptions& options) override {
    return stub_->GetLatency(request, options);
  }
  absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request, const CallOptions& options) override {
    return stub_->ObserveJob(request, options);
  }
  absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request,
      const CallOptions& options) override {
    return stub_->ObserveMicroBatch(request, options);
  }
  absl::StatusOr<v1::PutCostProfileResponse> PutCostProfile(
      const v1::PutCostProfileRequest& request, const CallOptions& options) override {
    return stub_->PutCostProfile(request, options);
  }
  absl::StatusOr<v1::GetCostProfileResponse> GetCostProfile(
      const v1::GetCostProfileRequest& request, const CallOptions& options) override {
    return stub_->GetCostProfile(request, options);
  }
  absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles(
      const v1::ListCostProfilesRequest& request, const CallOptions& options) override {
    return stub_->ListCostProfiles(request, options);
  }
  absl::StatusOr<v1::DeleteCostProfileResponse> DeleteCostProfile(
      const v1::DeleteCostProfileRequest& request,
      const CallOptions& options) override {
    return stub_->DeleteCostProfile(request, options);
  }
  std::unique_ptr<IngestStream> Ingest(const std::stop_token& stop) override {
    return stub_->Ingest(stop);
  }
  std::unique_ptr<StepStream> StreamSteps(const std::stop_token& stop) override {
    return std::make_unique<CreditlessStream>(stub_->StreamSteps(stop));
  }

  std::unique_ptr<GroupStream> JoinGroup(const std::stop_token& stop) override {
    return stub_->JoinGroup(stop);
  }

 private:
  const std::shared_ptr<Stub> stub_;
};

}  // namespace

std::shared_ptr<client::Stub> WithoutReceived(std::shared_ptr<client::Stub> stub) {
  return std::make_shared<CreditlessStub>(std::move(stub));
}

}  // namespace evenpack
