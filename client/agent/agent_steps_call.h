// PackingService.StreamSteps of an agent.
#ifndef EVENPACK_CLIENT_AGENT_AGENT_STEPS_CALL_H_
#define EVENPACK_CLIENT_AGENT_AGENT_STEPS_CALL_H_

#include "client/agent/step_feeds.h"
#include "server/service/live_calls.h"
#include "server/service/stream_call.h"

namespace evenpack::agent {

// Both outlive the call.
struct StepsCallEnvironment {
  StepFeeds& feeds;
  LiveCalls& calls;
};

StreamReactor* StartAgentStepsCall(const StepsCallEnvironment& environment);

}  // namespace evenpack::agent

#endif  // EVENPACK_CLIENT_AGENT_AGENT_STEPS_CALL_H_
