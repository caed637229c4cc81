// The unary calls: check, convert, call, convert.
#ifndef EVENPACK_SERVER_SERVICE_JOB_CALLS_H_
#define EVENPACK_SERVER_SERVICE_JOB_CALLS_H_

#include <functional>
#include <string>

#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class AcknowledgeRequest;
class AcknowledgeResponse;
class CreateJobRequest;
class CreateJobResponse;
class DeleteJobRequest;
class DeleteJobResponse;
class GetJobRequest;
class GetJobResponse;
class GetStepRequest;
class GetStepResponse;
class ListJobsRequest;
class ListJobsResponse;
class UpdateJobRequest;
class UpdateJobResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Whether a job of that name may be shown; empty: every one may.
using JobFilter = std::function<bool(const std::string& name)>;

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment, const v1::CreateJobRequest& request,
            v1::CreateJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::GetJobRequest& request,
            v1::GetJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::ListJobsRequest& request,
            v1::ListJobsResponse& response, const JobFilter& shown,
            const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::UpdateJobRequest& request,
            v1::UpdateJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::DeleteJobRequest& request,
            v1::DeleteJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::GetStepRequest& request,
            v1::GetStepResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::AcknowledgeRequest& request, v1::AcknowledgeResponse& response,
            const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_CALLS_H_
