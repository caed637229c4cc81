// A call that the agent only passes on.
#ifndef EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_
#define EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_

#include <grpcpp/generic/async_generic_service.h>

#include "client/agent/upstream.h"

namespace evenpack::agent {

// The same method at the server that leads its job, with the client's deadline and
// metadata, but for its token: messages both ways as they come, one at a time each way,
// then the server's status with its details and metadata. Ends with the client's call.
// Begins with the client's first message, which says what job it is about. Where
// another server is named before there was an answer, what the client said is said
// again to that one; a call that has been answered ends then, and the client's next
// goes there. `upstream` outlives it.
grpc::ServerGenericBidiReactor* StartForwardedCall(
    Upstream& upstream, grpc::GenericCallbackServerContext& context);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_FORWARDED_CALL_H_
