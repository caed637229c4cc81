// One call of StreamSteps.
#ifndef EVENPACK_SERVER_SERVICE_STEPS_CALL_H_
#define EVENPACK_SERVER_SERVICE_STEPS_CALL_H_

#include "server/service/service_environment.h"
#include "server/service/stream_call.h"

namespace evenpack {

// Lives until the call is done. Messages are bytes, so that a step is encoded once for
// many subscribers.
StreamReactor* StartStepsCall(const ServiceEnvironment& environment,
                              const grpc::ServerContextBase& context);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STEPS_CALL_H_
