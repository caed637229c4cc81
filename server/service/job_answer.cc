#include "server/service/job_answer.h"

#include "absl/status/statusor.h"
#include "server/control/job.h"
#include "server/service/job_conversion.h"

namespace evenpack {

void AnswerWithJob(const std::shared_ptr<Job>& job, v1::Job& to, const Answer& answer) {
  job->Describe([&to, answer](const absl::StatusOr<JobStatus>& status) {
    AnswerWithJob(status, to, answer);
  });
}

void AnswerWithJob(const absl::StatusOr<JobStatus>& job, v1::Job& to,
                   const Answer& answer) {
  if (job.ok()) ToProto(*job, to);
  answer(job.status());
}

}  // namespace evenpack
