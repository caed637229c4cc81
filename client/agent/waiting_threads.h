// How many threads a plan agent has that wait for servers.
#ifndef EVENPACK_CLIENT_AGENT_WAITING_THREADS_H_
#define EVENPACK_CLIENT_AGENT_WAITING_THREADS_H_

namespace evenpack::agent {

// For questions about subscriptions, and steps fetched alone. More than a node has
// ranks: those of a server that hangs leave others theirs.
inline constexpr int kWaitingThreads = 128;

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_WAITING_THREADS_H_
