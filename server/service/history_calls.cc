#include "server/service/history_calls.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/control/job.h"
#include "server/core/digest/digest_bytes.h"
#include "server/service/checkpoint_check.h"
#include "server/service/rewind_conversion.h"

namespace evenpack {
namespace {

using JobPointer = std::shared_ptr<Job>;

template <typename Request>
std::optional<uint64_t> ExpectedEpoch(const Request& request) {
  if (!request.has_expected_epoch()) return std::nullopt;
  return request.expected_epoch();
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
  if (const absl::Status status = CheckCheckpoint(request.checkpoint()); !status.ok()) {
    return answer(status);
  }
  environment.jobs.Create(
      request.name(), RestoreJob{request.checkpoint()},
      [&response, answer](const absl::StatusOr<JobStatus>& restored) {
        AnswerWithJob(restored, *response.mutable_job(), answer);
      });
}

void Handle(const ServiceEnvironment& environment, const v1::RewindJobRequest& request,
            v1::RewindJobResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  absl::StatusOr<Command> command = FromProto(request, FindProfileIn(environment));
  if (!command.ok()) return answer(command.status());
  (*job)->Reconfigure([&command](uint64_t) { return *std::move(command); },
                      ExpectedEpoch(request),
                      [&response, answer](const absl::StatusOr<JobStatus>& rewound) {
                        if (!rewound.ok()) {
                          return answer(InRewindNames(rewound.status()));
                        }
                        AnswerWithJob(rewound, *response.mutable_job(), answer);
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
                    [&response, answer](const absl::StatusOr<JobStatus>& forked) {
                      AnswerWithJob(forked, *response.mutable_job(), answer);
                    });
      });
}

void Handle(const ServiceEnvironment& environment,
            const v1::SkipDocumentsRequest& request,
            v1::SkipDocumentsResponse& response, const Answer& answer) {
  const absl::StatusOr<JobPointer> job = environment.jobs.Find(request.name());
  if (!job.ok()) return answer(job.status());
  (*job)->Reconfigure(
      [&request](uint64_t next_step) { return FromProto(request, next_step); },
      ExpectedEpoch(request),
      [&response, answer](const absl::StatusOr<JobStatus>& skipped) {
        AnswerWithJob(skipped, *response.mutable_job(), answer);
      });
}

}  // namespace evenpack
