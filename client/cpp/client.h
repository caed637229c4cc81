// The C++ client of evenpack-server.
//
//   absl::StatusOr<Client> client = Client::Connect({.address = "packer:7654"});
//   absl::StatusOr<v1::Job> job = client->CreateJob("run-7", spec);
//   absl::StatusOr<std::unique_ptr<Producer>> producer =
//       client->OpenProducer({.job = "run-7", .stream = "web"});
//   absl::StatusOr<std::unique_ptr<Consumer>> consumer =
//       client->OpenConsumer({.job = "run-7", .dp_rank = 0, .sends_durable = true});
//
// docs/client-cpp.md has a whole program. Messages (v1::Job and the rest) are
// protobuf's; include the generated header of those that you use.
//
// Errors have the server's code and message, and details that error_details.h reads.
// Calls that may be repeated are retried on UNAVAILABLE, on RESOURCE_EXHAUSTED where
// the server says when to come back, and where no answer came in an attempt's time,
// which is ClientOptions.call_timeout; with the back-off of ClientOptions. The last
// error is returned when that ends.
#ifndef EVENPACK_CLIENT_CPP_CLIENT_H_
#define EVENPACK_CLIENT_CPP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/api_messages.h"
#include "client/cpp/client_options.h"
#include "client/cpp/connection.h"
#include "client/cpp/consumer.h"
#include "client/cpp/group_member.h"
#include "client/cpp/producer.h"

namespace evenpack::client {

// Thread-safe; copies share one connection. Producers and consumers may outlive it.
class Client {
 public:
  // Returns at once: whether there is a server shows with the first call.
  // INVALID_ARGUMENT: see Validate(ClientOptions), CheckFiles(Security).
  static absl::StatusOr<Client> Connect(const ClientOptions& options);
  // For mocks.
  explicit Client(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  // Retried. If a retry is told ALREADY_EXISTS, an attempt before it may have created
  // the job: the job of that name is returned if it has every field that `spec` sets,
  // and ALREADY_EXISTS if it differs.
  absl::StatusOr<v1::Job> CreateJob(const std::string& name, const v1::JobSpec& spec);
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  // All jobs by name, of whichever server of a database, and those that a server could
  // not recover from its store. A job whose server can't be asked is among those, with
  // why, and in led_elsewhere.
  absl::StatusOr<v1::ListJobsResponse> ListJobs();
  // Retried where expected_epoch is set, since otherwise a repetition would reconfigure
  // the job twice. If a retry is told ABORTED and the job is one epoch further with
  // every field that the request's spec sets, an attempt before it succeeded.
  absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request);
  // Retried; NOT_FOUND of a retry is success.
  absl::Status DeleteJob(const std::string& name);
  // The job as it was after a step, for a trainer's checkpoint.
  absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(const std::string& name,
                                                          uint64_t step);
  // A new job from a checkpoint. A retry that is told ALREADY_EXISTS returns that, with
  // a note that an attempt before it may have been carried out.
  absl::StatusOr<v1::Job> RestoreJob(const std::string& name,
                                     const std::string& checkpoint);
  // The job goes on from an earlier step, or from a checkpoint. Retried where
  // expected_epoch is set; a retry that is told ABORTED returns that, with a note that
  // an attempt before it may have been carried out.
  absl::StatusOr<v1::Job> RewindJob(const v1::RewindJobRequest& request);
  // The new job, which was up to a step the other one. Errors as RestoreJob.
  absl::StatusOr<v1::Job> ForkJob(const v1::ForkJobRequest& request);
  // Documents that no further step is to have. Retried as RewindJob, and where
  // from_step is not set, since then a repetition changes nothing.
  absl::StatusOr<v1::Job> SkipDocuments(const v1::SkipDocumentsRequest& request);
  absl::StatusOr<v1::Step> GetStep(const v1::GetStepRequest& request);
  // A durable mark. Returns how many steps of that DP rank are durable.
  absl::StatusOr<uint64_t> Acknowledge(const v1::AcknowledgeRequest& request);
  // Not retried: a repetition would count waits twice.
  absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request);
  // What ranks measured of the last steps.
  absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request);
  // What observers see of a job: its last steps, what waits, who follows.
  absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request);
  // Whose tokens are whose in a micro-batch.
  absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request);

  // A cost profile, in place of the one of its name. Retried.
  absl::Status PutCostProfile(const v1::CostProfile& profile);
  absl::StatusOr<v1::CostProfile> GetCostProfile(const std::string& name);
  // All by name, without their tables, and those that the store has damaged.
  absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles();
  // Retried; NOT_FOUND of a retry is success.
  absl::Status DeleteCostProfile(const std::string& name);

  // Blocks until the server has said what number is next. Fails as Producer does.
  absl::StatusOr<std::unique_ptr<Producer>> OpenProducer(
      const ProducerOptions& options);
  // Returns at once; subscribes in the background. INVALID_ARGUMENT: see
  // Validate(ConsumerOptions).
  absl::StatusOr<std::unique_ptr<Consumer>> OpenConsumer(
      const ConsumerOptions& options);
  // Returns at once; joins once the member has reported. INVALID_ARGUMENT: see
  // Validate(GroupOptions).
  absl::StatusOr<std::unique_ptr<GroupMember>> JoinGroup(const GroupOptions& options);

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CLIENT_H_
