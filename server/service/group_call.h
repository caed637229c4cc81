// One call of JoinGroup.
#ifndef EVENPACK_SERVER_SERVICE_GROUP_CALL_H_
#define EVENPACK_SERVER_SERVICE_GROUP_CALL_H_

#include <grpcpp/support/server_callback.h>

#include "server/service/service_environment.h"

namespace evenpack::v1 {
class JoinGroupRequest;
class JoinGroupResponse;
}  // namespace evenpack::v1

namespace evenpack {

// Lives until the call is done.
grpc::ServerBidiReactor<v1::JoinGroupRequest, v1::JoinGroupResponse>* StartGroupCall(
    const ServiceEnvironment& environment);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_GROUP_CALL_H_
