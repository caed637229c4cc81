// evenpack.v1.PackingService and CostProfileService without gRPC: one method for each
// RPC, one attempt each. grpc_stub.h has the real one; tests script their own.
#ifndef EVENPACK_CLIENT_CPP_STUB_H_
#define EVENPACK_CLIENT_CPP_STUB_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"

namespace evenpack::client {

struct CallOptions {
  // Of the whole call, which then ends with DEADLINE_EXCEEDED.
  std::chrono::milliseconds timeout{};
  // Cancels the call, which then ends with CANCELLED.
  std::stop_token stop;
};

// A bidirectional call. One thread reads; any thread may do the rest. Destroying it
// cancels the call if it has not ended.
template <typename Request, typename Response>
class MessageStream {
 public:
  virtual ~MessageStream() = default;

  // Queues a message and returns. Nothing happens if the call has ended.
  virtual void Write(const Request& message) = 0;
  // No message follows those queued.
  virtual void WritesDone() = 0;
  // Blocks until fewer than `messages` queued ones are left to be sent, or the call has
  // ended. At least 1.
  virtual void AwaitUnsentBelow(size_t messages) = 0;
  // Messages that are queued and not sent.
  virtual size_t unsent() const = 0;

  // Blocks until a message comes, or the call has ended: false.
  virtual bool Read(Response& message) = 0;
  // After Read returned false: how the call ended, with google.rpc's details as
  // payloads (error_details.h).
  virtual absl::Status Finish() = 0;
};

using IngestStream = MessageStream<v1::IngestRequest, v1::IngestResponse>;
using StepStream = MessageStream<v1::StreamStepsRequest, v1::StreamStepsResponse>;
using GroupStream = MessageStream<v1::JoinGroupRequest, v1::JoinGroupResponse>;

// Thread-safe.
class Stub {
 public:
  virtual ~Stub() = default;

  virtual absl::StatusOr<v1::CreateJobResponse> CreateJob(
      const v1::CreateJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetJobResponse> GetJob(const v1::GetJobRequest& request,
                                                    const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::UpdateJobResponse> UpdateJob(
      const v1::UpdateJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::DeleteJobResponse> DeleteJob(
      const v1::DeleteJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(
      const v1::CheckpointJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::RestoreJobResponse> RestoreJob(
      const v1::RestoreJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::RewindJobResponse> RewindJob(
      const v1::RewindJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ForkJobResponse> ForkJob(const v1::ForkJobRequest& request,
                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::SkipDocumentsResponse> SkipDocuments(
      const v1::SkipDocumentsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetStepResponse> GetStep(const v1::GetStepRequest& request,
                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::AcknowledgeResponse> Acknowledge(
      const v1::AcknowledgeRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::PutCostProfileResponse> PutCostProfile(
      const v1::PutCostProfileRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetCostProfileResponse> GetCostProfile(
      const v1::GetCostProfileRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles(
      const v1::ListCostProfilesRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::DeleteCostProfileResponse> DeleteCostProfile(
      const v1::DeleteCostProfileRequest& request, const CallOptions& options) = 0;

  // A call that is cancelled when `stop` is requested.
  virtual std::unique_ptr<IngestStream> Ingest(const std::stop_token& stop) = 0;
  virtual std::unique_ptr<StepStream> StreamSteps(const std::stop_token& stop) = 0;
  virtual std::unique_ptr<GroupStream> JoinGroup(const std::stop_token& stop) = 0;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_STUB_H_
