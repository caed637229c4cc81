// The unary calls that take a job back, or on from one of its steps: check, convert,
// call, convert.
#ifndef EVENPACK_SERVER_SERVICE_HISTORY_CALLS_H_
#define EVENPACK_SERVER_SERVICE_HISTORY_CALLS_H_

#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class CheckpointJobRequest;
class CheckpointJobResponse;
class ForkJobRequest;
class ForkJobResponse;
class RestoreJobRequest;
class RestoreJobResponse;
class RewindJobRequest;
class RewindJobResponse;
class SkipDocumentsRequest;
class SkipDocumentsResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment,
            const v1::CheckpointJobRequest& request,
            v1::CheckpointJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::RestoreJobRequest& request,
            v1::RestoreJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::RewindJobRequest& request,
            v1::RewindJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::ForkJobRequest& request,
            v1::ForkJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::SkipDocumentsRequest& request,
            v1::SkipDocumentsResponse& response, const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_HISTORY_CALLS_H_
