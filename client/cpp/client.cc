#include "client/cpp/client.h"

#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {

absl::StatusOr<v1::Job> Client::CreateJob(const std::string& name,
                                          const v1::JobSpec& spec) {
  v1::CreateJobRequest request;
  request.set_name(name);
  *request.mutable_spec() = spec;
  return connection_->CreateJob(request);
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  return connection_->GetJob(name);
}

absl::StatusOr<v1::ListJobsResponse> Client::ListJobs() {
  return connection_->ListJobs();
}

absl::StatusOr<v1::Job> Client::UpdateJob(const v1::UpdateJobRequest& request) {
  return connection_->UpdateJob(request);
}

absl::Status Client::DeleteJob(const std::string& name) {
  return connection_->DeleteJob(name);
}

absl::StatusOr<v1::CheckpointJobResponse> Client::CheckpointJob(const std::string& name,
                                                                uint64_t step) {
  return connection_->CheckpointJob(name, step);
}

absl::StatusOr<v1::Job> Client::RestoreJob(const std::string& name,
                                           const std::string& checkpoint) {
  v1::RestoreJobRequest request;
  request.set_name(name);
  request.set_checkpoint(checkpoint);
  return connection_->RestoreJob(request);
}

absl::StatusOr<v1::Job> Client::RewindJob(const v1::RewindJobRequest& request) {
  return connection_->RewindJob(request);
}

absl::StatusOr<v1::Job> Client::ForkJob(const v1::ForkJobRequest& request) {
  return connection_->ForkJob(request);
}

absl::StatusOr<v1::Job> Client::SkipDocuments(const v1::SkipDocumentsRequest& request) {
  return connection_->SkipDocuments(request);
}

absl::StatusOr<v1::Step> Client::GetStep(const v1::GetStepRequest& request) {
  return connection_->GetStep(request);
}

absl::StatusOr<uint64_t> Client::Acknowledge(const v1::AcknowledgeRequest& request) {
  return connection_->Acknowledge(request);
}

absl::StatusOr<v1::ReportLatencyResponse> Client::ReportLatency(
    const v1::ReportLatencyRequest& request) {
  return connection_->ReportLatency(request);
}

absl::StatusOr<v1::GetLatencyResponse> Client::GetLatency(
    const v1::GetLatencyRequest& request) {
  return connection_->GetLatency(request);
}

absl::StatusOr<v1::ObserveJobResponse> Client::ObserveJob(
    const v1::ObserveJobRequest& request) {
  return connection_->ObserveJob(request);
}

absl::StatusOr<v1::ObserveMicroBatchResponse> Client::ObserveMicroBatch(
    const v1::ObserveMicroBatchRequest& request) {
  return connection_->ObserveMicroBatch(request);
}

absl::Status Client::PutCostProfile(const v1::CostProfile& profile) {
  return connection_->PutCostProfile(profile);
}

absl::StatusOr<v1::CostProfile> Client::GetCostProfile(const std::string& name) {
  return connection_->GetCostProfile(name);
}

absl::StatusOr<v1::ListCostProfilesResponse> Client::ListCostProfiles() {
  return connection_->ListCostProfiles();
}

absl::Status Client::DeleteCostProfile(const std::string& name) {
  return connection_->DeleteCostProfile(name);
}

absl::StatusOr<std::unique_ptr<Producer>> Client::OpenProducer(
    const ProducerOptions& options) {
  return connection_->OpenProducer(options);
}

absl::StatusOr<std::unique_ptr<Consumer>> Client::OpenConsumer(
    const ConsumerOptions& options) {
  return connection_->OpenConsumer(options);
}

absl::StatusOr<std::unique_ptr<GroupMember>> Client::JoinGroup(
    const GroupOptions& options) {
  return connection_->JoinGroup(options);
}

}  // namespace evenpack::client
