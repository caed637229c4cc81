#include "client/cpp/retrying_connection.h"

#include <google/protobuf/util/message_differencer.h>

#include <stop_token>
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "client/cpp/backoff.h"
#include "client/cpp/consumer_session.h"
#include "client/cpp/group_session.h"
#include "client/cpp/job_list.h"
#include "client/cpp/producer_session.h"
#include "client/cpp/retry.h"
#include "client/cpp/shared_random.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

ClientOptions WithSharedRandom(ClientOptions options) {
  options.random = SharedRandom(std::move(options.random));
  return options;
}

// As "ListJobs", of a ListJobsRequest.
template <typename Request>
std::string MethodOf(const Request&) {
  return std::string(absl::StripSuffix(Request::descriptor()->name(), "Request"));
}

// Fields that `asked` leaves to their defaults are filled in by the server.
bool HasEveryField(const v1::JobSpec& held, const v1::JobSpec& asked) {
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_scope(google::protobuf::util::MessageDifferencer::PARTIAL);
  return differencer.Compare(asked, held);
}

class RetryingConnection final : public Connection {
 public:
  RetryingConnection(std::shared_ptr<Stub> stub, const ClientOptions& options,
                     const std::stop_token& stop)
      : stub_(std::move(stub)),
        options_(WithSharedRandom(options)),
        attempt_{options.call_timeout, stop} {}

  absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request) override;
  absl::StatusOr<v1::Job> GetJob(const std::string& name) override;
  absl::StatusOr<v1::ListJobsResponse> ListJobs() override;
  absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request) override;
  absl::Status DeleteJob(const std::string& name) override;
  absl::StatusOr<v1::CheckpointJobResponse> CheckpointJob(const std::string& name,
                                                          uint64_t step) override;
  absl::StatusOr<v1::Job> RestoreJob(const v1::RestoreJobRequest& request) override;
  absl::StatusOr<v1::Job> RewindJob(const v1::RewindJobRequest& request) override;
  absl::StatusOr<v1::Job> ForkJob(const v1::ForkJobRequest& request) override;
  absl::StatusOr<v1::Job> SkipDocuments(
      const v1::SkipDocumentsRequest& request) override;
  absl::StatusOr<v1::Step> GetStep(const v1::GetStepRequest& request) override;
  absl::StatusOr<uint64_t> Acknowledge(const v1::AcknowledgeRequest& request) override;
  absl::StatusOr<v1::ReportLatencyResponse> ReportLatency(
      const v1::ReportLatencyRequest& request) override;
  absl::StatusOr<v1::GetLatencyResponse> GetLatency(
      const v1::GetLatencyRequest& request) override;
  absl::StatusOr<v1::ObserveJobResponse> ObserveJob(
      const v1::ObserveJobRequest& request) override;
  absl::StatusOr<v1::ObserveMicroBatchResponse> ObserveMicroBatch(
      const v1::ObserveMicroBatchRequest& request) override;
  absl::Status PutCostProfile(const v1::CostProfile& profile) override;
  absl::StatusOr<v1::CostProfile> GetCostProfile(const std::string& name) override;
  absl::StatusOr<v1::ListCostProfilesResponse> ListCostProfiles() override;
  absl::Status DeleteCostProfile(const std::string& name) override;
  absl::StatusOr<std::unique_ptr<Producer>> OpenProducer(
      const ProducerOptions& options) override;
  absl::StatusOr<std::unique_ptr<Consumer>> OpenConsumer(
      const ConsumerOptions& options) override;
  absl::StatusOr<std::unique_ptr<GroupMember>> JoinGroup(
      const GroupOptions& options) override;

 private:
  template <typename Request, typename Response>
  using Method = absl::StatusOr<Response> (Stub::*)(const Request&, const CallOptions&);

  template <typename Response>
  struct Outcome {
    absl::StatusOr<Response> response;
    // An attempt before the last one failed, and may have been carried out all the
    // same.
    bool repeated = false;
  };

  template <typename Request, typename Response>
  Outcome<Response> Retry(Method<Request, Response> method, const Request& request) {
    Backoff backoff(options_.backoff, *options_.clock, options_.random,
                    {MethodOf(request), options_.on_retry});
    for (;;) {
      absl::StatusOr<Response> response = ((*stub_).*method)(request, attempt_);
      if (response.ok() || !IsRetryable(response.status())) {
        const bool repeated = backoff.failures() > 0;
        if (response.ok()) backoff.Succeeded();
        return {std::move(response), repeated};
      }
      const absl::Status status = response.status();
      if (!WaitToRetry(status, backoff, *options_.sleeper, attempt_.stop)) {
        return {GaveUp(status, backoff), true};
      }
    }
  }

  // The pages of a list as one.
  template <typename Request, typename Response>
  absl::StatusOr<Response> AllPages(Method<Request, Response> method) {
    Response all;
    Request request;
    do {
      Outcome<Response> outcome = Retry(method, request);
      if (!outcome.response.ok()) return outcome.response.status();
      request.set_page_token(outcome.response->next_page_token());
      outcome.response->clear_next_page_token();
      all.MergeFrom(*outcome.response);
    } while (!request.page_token().empty());
    return all;
  }

  // What a retry does not find, an attempt before it deleted.
  template <typename Request, typename Response>
  absl::Status Delete(Method<Request, Response> method, const std::string& name) {
    Request request;
    request.set_name(name);
    const Outcome<Response> outcome = Retry(method, request);
    const absl::Status& status = outcome.response.status();
    if (outcome.repeated && status.code() == absl::StatusCode::kNotFound) {
      return absl::OkStatus();
    }
    return status;
  }

  template <typename Request, typename Response>
  Outcome<Response> Once(Method<Request, Response> method, const Request& request) {
    return {((*stub_).*method)(request, attempt_)};
  }

  // The job of a call that, carried out before, is refused with `code`.
  template <typename Response>
  static absl::StatusOr<v1::Job> JobOf(Outcome<Response> outcome,
                                       absl::StatusCode code) {
    if (outcome.response.ok()) return std::move(*outcome.response->mutable_job());
    absl::Status status = outcome.response.status();
    if (!outcome.repeated || status.code() != code) return status;
    return Annotated(status, "; an attempt before this one may have been carried out");
  }

  const std::shared_ptr<Stub> stub_;
  const ClientOptions options_;
  const CallOptions attempt_;
};

absl::StatusOr<v1::Job> RetryingConnection::CreateJob(
    const v1::CreateJobRequest& request) {
  Outcome<v1::CreateJobResponse> outcome = Retry(&Stub::CreateJob, request);
  if (outcome.response.ok()) return std::move(*outcome.response->mutable_job());
  absl::Status status = outcome.response.status();
  if (!outcome.repeated || status.code() != absl::StatusCode::kAlreadyExists) {
    return status;
  }
  absl::StatusOr<v1::Job> job = GetJob(request.name());
  if (absl::IsNotFound(job.status())) {
    return absl::UnavailableError(
        absl::StrCat("job: '", request.name(),
                     "' was not created: an attempt held the name and could not be "
                     "stored; try again"));
  }
  if (!job.ok()) return job;
  if (HasEveryField(job->spec(), request.spec())) return job;
  return Annotated(status, "; the job that has this name has another spec");
}

absl::StatusOr<v1::Job> RetryingConnection::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  Outcome<v1::GetJobResponse> outcome = Retry(&Stub::GetJob, request);
  if (!outcome.response.ok()) return outcome.response.status();
  return std::move(*outcome.response->mutable_job());
}

absl::StatusOr<v1::ListJobsResponse> RetryingConnection::ListJobs() {
  absl::StatusOr<v1::ListJobsResponse> listed = AllPages(&Stub::ListJobs);
  if (listed.ok()) AddJobsLedElsewhere(*stub_, attempt_, *listed);
  return listed;
}

absl::StatusOr<v1::Job> RetryingConnection::UpdateJob(
    const v1::UpdateJobRequest& request) {
  if (!request.has_expected_epoch()) {
    return JobOf(Once(&Stub::UpdateJob, request), absl::StatusCode::kAborted);
  }
  Outcome<v1::UpdateJobResponse> outcome = Retry(&Stub::UpdateJob, request);
  if (outcome.response.ok()) return std::move(*outcome.response->mutable_job());
  absl::Status status = outcome.response.status();
  if (!outcome.repeated || status.code() != absl::StatusCode::kAborted) return status;
  absl::StatusOr<v1::Job> job = GetJob(request.name());
  if (!job.ok()) return job;
  const bool updated = job->epoch() == request.expected_epoch() + 1 &&
                       HasEveryField(job->spec(), request.spec());
  if (updated) return job;
  return status;
}

absl::Status RetryingConnection::DeleteJob(const std::string& name) {
  return Delete(&Stub::DeleteJob, name);
}

absl::StatusOr<v1::CheckpointJobResponse> RetryingConnection::CheckpointJob(
    const std::string& name, uint64_t step) {
  v1::CheckpointJobRequest request;
  request.set_name(name);
  request.set_step(step);
  return Retry(&Stub::CheckpointJob, request).response;
}

absl::StatusOr<v1::Job> RetryingConnection::RestoreJob(
    const v1::RestoreJobRequest& request) {
  return JobOf(Retry(&Stub::RestoreJob, request), absl::StatusCode::kAlreadyExists);
}

absl::StatusOr<v1::Job> RetryingConnection::RewindJob(
    const v1::RewindJobRequest& request) {
  return JobOf(request.has_expected_epoch() ? Retry(&Stub::RewindJob, request)
                                            : Once(&Stub::RewindJob, request),
               absl::StatusCode::kAborted);
}

absl::StatusOr<v1::Job> RetryingConnection::ForkJob(const v1::ForkJobRequest& request) {
  return JobOf(Retry(&Stub::ForkJob, request), absl::StatusCode::kAlreadyExists);
}

absl::StatusOr<v1::Job> RetryingConnection::SkipDocuments(
    const v1::SkipDocumentsRequest& request) {
  const bool repeatable = request.has_expected_epoch() || !request.has_from_step();
  return JobOf(repeatable ? Retry(&Stub::SkipDocuments, request)
                          : Once(&Stub::SkipDocuments, request),
               absl::StatusCode::kAborted);
}

absl::StatusOr<v1::Step> RetryingConnection::GetStep(
    const v1::GetStepRequest& request) {
  Outcome<v1::GetStepResponse> outcome = Retry(&Stub::GetStep, request);
  if (!outcome.response.ok()) return outcome.response.status();
  return std::move(*outcome.response->mutable_step());
}

absl::StatusOr<uint64_t> RetryingConnection::Acknowledge(
    const v1::AcknowledgeRequest& request) {
  Outcome<v1::AcknowledgeResponse> outcome = Retry(&Stub::Acknowledge, request);
  if (!outcome.response.ok()) return outcome.response.status();
  return outcome.response->durable_steps();
}

absl::StatusOr<v1::ReportLatencyResponse> RetryingConnection::ReportLatency(
    const v1::ReportLatencyRequest& request) {
  return stub_->ReportLatency(request, attempt_);
}

absl::StatusOr<v1::GetLatencyResponse> RetryingConnection::GetLatency(
    const v1::GetLatencyRequest& request) {
  return Retry(&Stub::GetLatency, request).response;
}

absl::StatusOr<v1::ObserveJobResponse> RetryingConnection::ObserveJob(
    const v1::ObserveJobRequest& request) {
  return Retry(&Stub::ObserveJob, request).response;
}

absl::StatusOr<v1::ObserveMicroBatchResponse> RetryingConnection::ObserveMicroBatch(
    const v1::ObserveMicroBatchRequest& request) {
  return Retry(&Stub::ObserveMicroBatch, request).response;
}

absl::Status RetryingConnection::PutCostProfile(const v1::CostProfile& profile) {
  v1::PutCostProfileRequest request;
  *request.mutable_profile() = profile;
  return Retry(&Stub::PutCostProfile, request).response.status();
}

absl::StatusOr<v1::CostProfile> RetryingConnection::GetCostProfile(
    const std::string& name) {
  v1::GetCostProfileRequest request;
  request.set_name(name);
  Outcome<v1::GetCostProfileResponse> outcome = Retry(&Stub::GetCostProfile, request);
  if (!outcome.response.ok()) return outcome.response.status();
  return std::move(*outcome.response->mutable_profile());
}

absl::StatusOr<v1::ListCostProfilesResponse> RetryingConnection::ListCostProfiles() {
  return AllPages(&Stub::ListCostProfiles);
}

absl::Status RetryingConnection::DeleteCostProfile(const std::string& name) {
  return Delete(&Stub::DeleteCostProfile, name);
}

absl::StatusOr<std::unique_ptr<Producer>> RetryingConnection::OpenProducer(
    const ProducerOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  auto producer = std::make_unique<ProducerSession>(stub_, options_, options);
  const std::stop_callback cancel(attempt_.stop,
                                  [session = producer.get()] { session->Cancel(); });
  if (absl::Status status = producer->AwaitOpen(); !status.ok()) return status;
  return producer;
}

absl::StatusOr<std::unique_ptr<Consumer>> RetryingConnection::OpenConsumer(
    const ConsumerOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::make_unique<ConsumerSession>(stub_, options_, options);
}

absl::StatusOr<std::unique_ptr<GroupMember>> RetryingConnection::JoinGroup(
    const GroupOptions& options) {
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return std::make_unique<GroupSession>(stub_, options_, options);
}

}  // namespace

std::shared_ptr<Connection> MakeRetryingConnection(std::shared_ptr<Stub> stub,
                                                   const ClientOptions& options,
                                                   const std::stop_token& stop) {
  return std::make_shared<RetryingConnection>(std::move(stub), options, stop);
}

}  // namespace evenpack::client
