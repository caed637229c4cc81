#include "server/service/job_answer.h"

#include "absl/status/statusor.h"
#include "server/control/job.h"
#include "server/service/job_conversion.h"

namespace evenpack {

void AnswerWithJob(const std::shared_ptr<Job>& job, v1::Job& to, const Answer& answer) {
  job->Describe([&to, answer](const absl::StatusOr<JobStatus>& status) {
    if (status.ok()) ToProto(*status, to);
    answer(status.status());
  });
}

void AnswerWithJob(const absl::Status& status, const JobRegistry& jobs,
                   const std::string& name, v1::Job& to, const Answer& answer) {
  if (!status.ok()) return answer(status);
  const absl::StatusOr<std::shared_ptr<Job>> job = jobs.Find(name);
  if (!job.ok()) return answer(job.status());
  AnswerWithJob(*job, to, answer);
}

}  // namespace evenpack
