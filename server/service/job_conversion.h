// A job's status as the API tells it.
#ifndef EVENPACK_SERVER_SERVICE_JOB_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_JOB_CONVERSION_H_

#include "server/control/job_status.h"

namespace evenpack::v1 {
class Job;
}

namespace evenpack {

void ToProto(const JobStatus& status, v1::Job& to);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_CONVERSION_H_
