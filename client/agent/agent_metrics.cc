#include "client/agent/agent_metrics.h"

#include "absl/strings/str_cat.h"

namespace evenpack::agent {
namespace {

struct AgentMetric {
  const char* name;
  const char* type;
  const char* help;
  uint64_t StepFeedsFigures::*value;
};

constexpr AgentMetric kAgentMetrics[] = {
    {"evenpack_agent_upstream_subscriptions", "gauge",
     "Subscriptions at the server, one for each job, DP rank and epoch.",
     &StepFeedsFigures::feeds},
    {"evenpack_agent_upstream_connected", "gauge", "Those of them whose call stands.",
     &StepFeedsFigures::connected},
    {"evenpack_agent_local_subscribers", "gauge", "Subscriptions that share them.",
     &StepFeedsFigures::locals},
    {"evenpack_agent_held_steps", "gauge",
     "Steps kept until all who share them have received them.",
     &StepFeedsFigures::held_steps},
    {"evenpack_agent_held_bytes", "gauge",
     "What they take, with the views that are asked for.",
     &StepFeedsFigures::held_bytes},
    {"evenpack_agent_steps_received_total", "counter",
     "Steps that came by upstream subscriptions.", &StepFeedsFigures::steps_received},
    {"evenpack_agent_steps_fetched_total", "counter",
     "Steps that were asked for alone, as for who was behind or names a layout.",
     &StepFeedsFigures::steps_fetched},
    {"evenpack_agent_upstream_reconnects_total", "counter",
     "Upstream calls after a subscription's first.", &StepFeedsFigures::reconnects},
};

}  // namespace

std::string AgentMetricsText(const std::string& version,
                             const StepFeedsFigures& figures) {
  std::string text = absl::StrCat(
      "# HELP evenpack_agent_build_info Always 1; the version is in the label.\n"
      "# TYPE evenpack_agent_build_info gauge\n"
      "evenpack_agent_build_info{version=\"",
      version, "\"} 1\n");
  for (const AgentMetric& metric : kAgentMetrics) {
    absl::StrAppend(&text, "# HELP ", metric.name, " ", metric.help, "\n# TYPE ",
                    metric.name, " ", metric.type, "\n");
    absl::StrAppend(&text, metric.name, " ", figures.*metric.value, "\n");
  }
  return text;
}

}  // namespace evenpack::agent
