// The unary calls: check, convert, call, convert.
#ifndef EVENPACK_SERVER_SERVICE_JOB_CALLS_H_
#define EVENPACK_SERVER_SERVICE_JOB_CALLS_H_

#include <functional>

#include "absl/status/status.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class AcknowledgeRequest;
class AcknowledgeResponse;
class CheckpointJobRequest;
class CheckpointJobResponse;
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
class ReportLatencyRequest;
class ReportLatencyResponse;
class RestoreJobRequest;
class RestoreJobResponse;
class UpdateJobRequest;
class UpdateJobResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Once, from any thread; the response is filled before.
using Answer = std::function<void(const absl::Status&)>;

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment, const v1::CreateJobRequest& request,
            v1::CreateJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::GetJobRequest& request,
            v1::GetJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::ListJobsRequest& request,
            v1::ListJobsResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::UpdateJobRequest& request,
            v1::UpdateJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::CheckpointJobRequest& request,
            v1::CheckpointJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::RestoreJobRequest& request,
            v1::RestoreJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::DeleteJobRequest& request,
            v1::DeleteJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::GetStepRequest& request,
            v1::GetStepResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::AcknowledgeRequest& request, v1::AcknowledgeResponse& response,
            const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::ReportLatencyRequest& request,
            v1::ReportLatencyResponse& response, const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_JOB_CALLS_H_
