// What an agent tells Prometheus.
#ifndef EVENPACK_CLIENT_AGENT_AGENT_METRICS_H_
#define EVENPACK_CLIENT_AGENT_AGENT_METRICS_H_

#include <string>

#include "client/agent/step_feeds.h"

namespace evenpack::agent {

// In Prometheus' text format 0.0.4; docs/agent.md has the list.
std::string AgentMetricsText(const std::string& version,
                             const StepFeedsFigures& figures);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_AGENT_METRICS_H_
