// Where an agent listens, as an operator writes it.
#ifndef EVENPACK_CLIENT_AGENT_AGENT_ADDRESS_H_
#define EVENPACK_CLIENT_AGENT_AGENT_ADDRESS_H_

#include <string>

#include "absl/status/status.h"

namespace evenpack::agent {

// Whether `listen` is HOST:PORT or unix:PATH. INVALID_ARGUMENT naming `listen`.
absl::Status CheckAgentAddress(const std::string& listen);

// Whether only this machine reaches `listen`, which CheckAgentAddress accepts: anyone
// who reaches an agent is to the server whoever the agent is. INVALID_ARGUMENT naming
// `listen`.
absl::Status CheckReachedLocally(const std::string& listen);

// PATH of unix:PATH; empty for HOST:PORT.
std::string SocketPath(const std::string& listen);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_AGENT_ADDRESS_H_
