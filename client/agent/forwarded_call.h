// A call that the agent only passes on.
#ifndef EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_
#define EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

namespace evenpack::agent {

// The same method at the server, with the client's metadata and deadline: messages both
// ways as they come, one at a time each way, then the server's status with its details
// and metadata. Ends with the client's call. `stub` outlives it.
grpc::ServerGenericBidiReactor* StartForwardedCall(
    grpc::GenericStub& stub, grpc::GenericCallbackServerContext& context);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_
