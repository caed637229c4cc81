// One call of StreamSteps.
#ifndef EVENPACK_SERVER_SERVICE_STEPS_CALL_H_
#define EVENPACK_SERVER_SERVICE_STEPS_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/service/service_environment.h"

namespace evenpack {

// Lives until the call is done. Messages are bytes, so that a step is encoded once for
// many subscribers.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStepsCall(
    const ServiceEnvironment& environment, const grpc::ServerContextBase& context);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_STEPS_CALL_H_
