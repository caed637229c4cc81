#include "client/agent/agent_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace evenpack::agent {
namespace {

using ::testing::HasSubstr;

TEST(AgentMetricsTest, EachFigureIsASeriesOfItsName) {
  StepFeedsFigures figures;
  figures.feeds = 1;
  figures.connected = 2;
  figures.locals = 3;
  figures.held_steps = 4;
  figures.held_bytes = 5;
  figures.steps_received = 6;
  figures.steps_fetched = 7;
  figures.reconnects = 8;
  const std::string text = AgentMetricsText("1.2.3", figures);
  for (const char* series : {
           "\nevenpack_agent_build_info{version=\"1.2.3\"} 1\n",
           "\nevenpack_agent_upstream_subscriptions 1\n",
           "\nevenpack_agent_upstream_connected 2\n",
           "\nevenpack_agent_local_subscribers 3\n",
           "\nevenpack_agent_held_steps 4\n",
           "\nevenpack_agent_held_bytes 5\n",
           "\nevenpack_agent_steps_received_total 6\n",
           "\nevenpack_agent_steps_fetched_total 7\n",
           "\nevenpack_agent_upstream_reconnects_total 8\n",
           "# TYPE evenpack_agent_steps_fetched_total counter\n",
           "# TYPE evenpack_agent_held_bytes gauge\n",
       }) {
    EXPECT_THAT(text, HasSubstr(series));
  }
}

}  // namespace
}  // namespace evenpack::agent
