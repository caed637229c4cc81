#include "server/service/history_calls.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/service/spec_conversion.h"

namespace evenpack {
namespace {

using JobPointer = std::shared_ptr<Job>;
using Ranges = google::protobuf::RepeatedPtrField<v1::DocumentRange>;

std::vector<DocumentRange> RangesOf(const Ranges& given) {
  std::vector<DocumentRange> ranges;
  for (const v1::DocumentRange& range : given) {
    ranges.push_back({range.stream(), range.first_sequence(), range.documents()});
  }
  return ranges;
}

template <typename Request>
std::optional<uint64_t> ExpectedEpoch(const Request& request) {
  if (!request.has_expected_epoch()) return std::nullopt;
  return request.expected_epoch();
}

absl::StatusOr<Command> ReadRewind(const v1::RewindJobRequest& request) {
  switch (request.target_case()) {
    case v1::RewindJobRequest::kFromStep: {
      RewindJob command{request.from_step(), std::nullopt, RangesOf(request.skip())};
      if (!request.has_spec()) return command;
      absl::StatusOr<JobSpec> spec = FromProto(request.spec());
      if (!spec.ok()) return spec.status();
      command.spec = *std::move(spec);
      return command;
    }
    case v1::RewindJobRequest::kCheckpoint:
      if (request.has_spec()) {
        return InvalidField("spec", "with a checkpoint, it",
                            "none, since the checkpoint has one; UpdateJob changes it");
      }
      return RewindToCheckpoint{request.checkpoint(), RangesOf(request.skip())};
    case v1::RewindJobRequest::TARGET_NOT_SET:
      break;
  }
  return InvalidField("target", "not set", "from_step or checkpoint");
}

// The engine's names of the spec's fields are not the API's; the others are.
absl::Status InRequestNames(const absl::Status& status) {
  const std::string field = RefusedField(status);
  const bool of_spec = field != "checkpoint" && field.substr(0, 4) != "skip";
  return of_spec ? InSpecNames(status) : status;
}

}  // namespace

void Handle(const ServiceEnvironment& environment,
            const v1::CheckpointJobRequest& request,
            v1::CheckpointJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  (*job)->Checkpoint(
      request.step(),
      [&response, answer](const absl::StatusOr<JobCheckpoint>& checkpoint) {
        if (checkpoint.ok()) {
          response.set_checkpoint(checkpoint->bytes);
          response.set_digest(DigestBytes(checkpoint->digest));
        }
        answer(checkpoint.status());
      });
}

void Handle(const ServiceEnvironment& environment, const v1::RestoreJobRequest& request,
            v1::RestoreJobResponse& response, const Answer& answer) {
  environment.jobs.Create(request.name(), RestoreJob{request.checkpoint()},
                          [&jobs = environment.jobs, &request, &response,
                           answer](const absl::Status& status) {
                            AnswerWithJob(status, jobs, request.name(),
                                          *response.mutable_job(), answer);
                          });
}

void Handle(const ServiceEnvironment& environment, const v1::RewindJobRequest& request,
            v1::RewindJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  absl::StatusOr<Command> command = ReadRewind(request);
  if (!command.ok()) return answer(command.status());
  (*job)->Reconfigure([&command](uint64_t) { return *std::move(command); },
                      ExpectedEpoch(request),
                      [job = *job, &response, answer](const absl::Status& status) {
                        if (!status.ok()) return answer(InRequestNames(status));
                        AnswerWithJob(job, *response.mutable_job(), answer);
                      });
}

void Handle(const ServiceEnvironment& environment, const v1::ForkJobRequest& request,
            v1::ForkJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  if (const absl::Status status = CheckJobName(request.new_name(), "new_name");
      !status.ok()) {
    return answer(status);
  }
  (*job)->Checkpoint(
      request.step(), [&jobs = environment.jobs, &request, &response,
                       answer](const absl::StatusOr<JobCheckpoint>& checkpoint) {
        if (!checkpoint.ok()) return answer(checkpoint.status());
        jobs.Create(request.new_name(), RestoreJob{checkpoint->bytes},
                    [&jobs, &request, &response, answer](const absl::Status& status) {
                      AnswerWithJob(status, jobs, request.new_name(),
                                    *response.mutable_job(), answer);
                    });
      });
}

void Handle(const ServiceEnvironment& environment,
            const v1::SkipDocumentsRequest& request,
            v1::SkipDocumentsResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  (*job)->Reconfigure(
      [&request](uint64_t next_step) {
        const uint64_t from = request.has_from_step() ? request.from_step() : next_step;
        return SkipDocuments{from, RangesOf(request.skip())};
      },
      ExpectedEpoch(request),
      [job = *job, &response, answer](const absl::Status& status) {
        if (!status.ok()) return answer(status);
        AnswerWithJob(job, *response.mutable_job(), answer);
      });
}

}  // namespace evenpack
