// What servers say of each other, for clients that may reach the agent alone.
#ifndef EVENPACK_CLIENT_AGENT_HIDDEN_LEADERS_H_
#define EVENPACK_CLIENT_AGENT_HIDDEN_LEADERS_H_

#include "absl/status/status.h"
#include "client/cpp/leader_map.h"

namespace grpc {
class ByteBuffer;
}

namespace evenpack::agent {

// LED_ELSEWHERE, where the agent could not follow it, as NO_LEADER, which tells the
// client to ask the agent again: its job has moved. Anything else as it is.
absl::Status WithoutLeader(const absl::Status& status);

// The bytes of a ListJobsResponse without the addresses in it, which `leaders` has
// then; as they are where they are no such message.
grpc::ByteBuffer WithoutAddresses(const grpc::ByteBuffer& listed,
                                  client::LeaderMap& leaders);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_HIDDEN_LEADERS_H_
