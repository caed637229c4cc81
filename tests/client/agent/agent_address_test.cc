#include "client/agent/agent_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(AgentAddressTest, IsAPortOrASocket) {
  for (const char* address :
       {"127.0.0.1:0", "[::1]:7", "node:7654", "unix:/run/evenpack/agent.sock"}) {
    EXPECT_THAT(CheckAgentAddress(address), IsOk()) << address;
  }
  EXPECT_EQ(SocketPath("unix:/run/agent.sock"), "/run/agent.sock");
  EXPECT_EQ(SocketPath("127.0.0.1:0"), "");
}

TEST(AgentAddressTest, NothingElseIsAccepted) {
  for (const std::string& address :
       {std::string(), std::string("node"), std::string("node:70000"),
        std::string("unix:"), std::string("unix:relative"),
        "unix:/" + std::string(107, 'x')}) {
    const absl::Status status = CheckAgentAddress(address);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(address)));
    EXPECT_EQ(RefusedField(status), "listen");
  }
}

TEST(AgentAddressTest, IsReachedLocallyByLoopbackOrASocket) {
  for (const char* address : {"127.0.0.1:0", "[::1]:7", "localhost:1", "unix:/a"}) {
    EXPECT_THAT(CheckReachedLocally(address), IsOk()) << address;
  }
  for (const char* address : {"0.0.0.0:0", "[::]:7", "node:1"}) {
    const absl::Status status = CheckReachedLocally(address);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--insecure")));
    EXPECT_EQ(RefusedField(status), "listen");
  }
}

}  // namespace
}  // namespace evenpack::agent
