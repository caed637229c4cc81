// One call of JoinGroup.
#ifndef EVENPACK_SERVER_SERVICE_GROUP_CALL_H_
#define EVENPACK_SERVER_SERVICE_GROUP_CALL_H_

#include "server/service/service_environment.h"
#include "server/service/stream_call.h"

namespace evenpack {

// Lives until the call is done.
StreamReactor* StartGroupCall(const ServiceEnvironment& environment,
                              const grpc::ServerContextBase& context);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_GROUP_CALL_H_
