// A status that came from the server, for a client of the agent's.
#ifndef EVENPACK_CLIENT_AGENT_STATUS_RELAY_H_
#define EVENPACK_CLIENT_AGENT_STATUS_RELAY_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace evenpack::agent {

// Code, message and google.rpc's details as they came (client/cpp/grpc_status.h); a
// status made here as the server would send it.
grpc::Status Relayed(const absl::Status& status);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_STATUS_RELAY_H_
