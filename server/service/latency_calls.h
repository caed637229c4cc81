// The calls about what ranks measure.
#ifndef EVENPACK_SERVER_SERVICE_LATENCY_CALLS_H_
#define EVENPACK_SERVER_SERVICE_LATENCY_CALLS_H_

#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class GetLatencyRequest;
class GetLatencyResponse;
class ReportLatencyRequest;
class ReportLatencyResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment,
            const v1::ReportLatencyRequest& request,
            v1::ReportLatencyResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment, const v1::GetLatencyRequest& request,
            v1::GetLatencyResponse& response, const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_LATENCY_CALLS_H_
