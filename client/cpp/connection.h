// What a Client stands on. The real one retries and reconnects; users' tests put
// mocks/mock_connection.h in its place.
#ifndef EVENPACK_CLIENT_CPP_CONNECTION_H_
#define EVENPACK_CLIENT_CPP_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/consumer.h"
#include "client/cpp/group_member.h"
#include "client/cpp/producer.h"

namespace evenpack::client {

// Thread-safe. Each call is what client.h says of the one of its name.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> GetJob(const std::string& name) = 0;
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs() = 0;
  virtual absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request) = 0;
  virtual absl::Status DeleteJob(const std::string& name) = 0;
  virtual absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(
      const std::string& name, uint64_t step) = 0;
  virtual absl::StatusOr<v1::Job> RestoreJob(const v1::RestoreJobRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> RewindJob(const v1::RewindJobRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> ForkJob(const v1::ForkJobRequest& request) = 0;
  virtual absl::StatusOr<v1::Job> SkipDocuments(
      const v1::SkipDocumentsRequest& request) = 0;
  virtual absl::StatusOr<v1::Step> GetStep(const v1::GetStepRequest& request) = 0;
  virtual absl::StatusOr<uint64_t> Acknowledge(
      const v1::AcknowledgeRequest& request) = 0;
  virtual absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request) = 0;
  virtual absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request) = 0;
  virtual absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request) = 0;
  virtual absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request) = 0;
  virtual absl::Status PutCostProfile(const v1::CostProfile& profile) = 0;
  virtual absl::StatusOr<v1::CostProfile> GetCostProfile(const std::string& name) = 0;
  virtual absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles() = 0;
  virtual absl::Status DeleteCostProfile(const std::string& name) = 0;

  virtual absl::StatusOr<std::unique_ptr<Producer>> OpenProducer(
      const ProducerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Consumer>> OpenConsumer(
      const ConsumerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<GroupMember>> JoinGroup(
      const GroupOptions& options) = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CONNECTION_H_
