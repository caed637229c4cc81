// The calls of observers: check, convert, call, convert.
#ifndef EVENPACK_SERVER_SERVICE_OBSERVE_CALLS_H_
#define EVENPACK_SERVER_SERVICE_OBSERVE_CALLS_H_

#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class ObserveJobRequest;
class ObserveJobResponse;
class ObserveMicroBatchRequest;
class ObserveMicroBatchResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment, const v1::ObserveJobRequest& request,
            v1::ObserveJobResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::ObserveMicroBatchRequest& request,
            v1::ObserveMicroBatchResponse& response, const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_OBSERVE_CALLS_H_
