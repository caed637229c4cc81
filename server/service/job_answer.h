// The end of a unary call.
#ifndef EVENPACK_SERVER_SERVICE_JOB_ANSWER_H_
#define EVENPACK_SERVER_SERVICE_JOB_ANSWER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/control/job_registry.h"

namespace evenpack::v1 {
class Job;
}  // namespace evenpack::v1

namespace evenpack {

// Once, from any thread; the response is filled before.
using Answer = std::function<void(const absl::Status&)>;

// Answers with the job as it is after what was decided before. `to` stays until then.
void AnswerWithJob(const std::shared_ptr<Job>& job, v1::Job& to, const Answer& answer);
// With the job as a change left it, or why there was none.
void AnswerWithJob(const absl::StatusOr<JobStatus>& job, v1::Job& to,
                   const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_ANSWER_H_
