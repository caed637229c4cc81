// The calls of CostProfileService: check, convert, call, convert.
#ifndef EVENPACK_SERVER_SERVICE_COST_PROFILE_CALLS_H_
#define EVENPACK_SERVER_SERVICE_COST_PROFILE_CALLS_H_

#include "server/service/job_answer.h"
#include "server/service/service_environment.h"

namespace evenpack::v1 {
class DeleteCostProfileRequest;
class DeleteCostProfileResponse;
class GetCostProfileRequest;
class GetCostProfileResponse;
class ListCostProfilesRequest;
class ListCostProfilesResponse;
class PutCostProfileRequest;
class PutCostProfileResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Request and response stay until the answer.
void Handle(const ServiceEnvironment& environment,
            const v1::PutCostProfileRequest& request,
            v1::PutCostProfileResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::GetCostProfileRequest& request,
            v1::GetCostProfileResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::ListCostProfilesRequest& request,
            v1::ListCostProfilesResponse& response, const Answer& answer);
void Handle(const ServiceEnvironment& environment,
            const v1::DeleteCostProfileRequest& request,
            v1::DeleteCostProfileResponse& response, const Answer& answer);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_COST_PROFILE_CALLS_H_
