// evenpack.v1.CostProfileService over the control room.
#ifndef EVENPACK_SERVER_SERVICE_COST_PROFILE_SERVICE_H_
#define EVENPACK_SERVER_SERVICE_COST_PROFILE_SERVICE_H_

#include <memory>

#include "server/service/service_environment.h"

namespace grpc {
class Service;
}

namespace evenpack {

// Register it with a grpc::ServerBuilder; it outlives the server. No call holds a
// thread while it waits.
std::unique_ptr<grpc::Service> MakeCostProfileService(
    const ServiceEnvironment& environment);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_COST_PROFILE_SERVICE_H_
