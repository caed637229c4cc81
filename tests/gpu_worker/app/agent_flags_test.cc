#include "gpu_worker/app/agent_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_worker/app/worker_options.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<std::string> AsAgent(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--agent", "--server", "packer:7", "--listen",
                                        "unix:/run/agent.sock"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(AgentFlagsTest, HaveDefaults) {
  const auto command = ReadWorkerCommand(AsAgent({}));
  ASSERT_THAT(command, IsOk());
  EXPECT_TRUE(command->options.agent.agent);
  EXPECT_EQ(command->options.agent.listen, "unix:/run/agent.sock");
  EXPECT_EQ(command->options.agent.max_steps_ahead, 1024U);
  EXPECT_EQ(command->options.serve.server, "packer:7");
  EXPECT_EQ(command->options.serve.http_listen, "");
  // Not the worker's: an agent keeps plans.
  EXPECT_EQ(command->options.serve.memory_bytes, uint64_t{512} << 20);
}

TEST(AgentFlagsTest, ReadWhatIsGiven) {
  const auto command = ReadWorkerCommand(
      AsAgent({"--max-steps-ahead", "7", "--memory", "64MB", "--http-listen", "a:1",
               "--log-format", "json", "--log-level", "error"}));
  ASSERT_THAT(command, IsOk());
  EXPECT_EQ(command->options.agent.max_steps_ahead, 7U);
  EXPECT_EQ(command->options.serve.memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(command->options.serve.http_listen, "a:1");
  EXPECT_EQ(command->options.serve.log_format, LogFormat::kJson);
  EXPECT_EQ(command->options.serve.log_level, LogLevel::kError);
}

TEST(AgentFlagsTest, RefuseByNameWhatTheyDoNotTake) {
  struct Row {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Row& row : {
           Row{{"--agent"}, "--server: missing"},
           Row{{"--agent", "--server", "a:1"}, "--listen: missing"},
           Row{AsAgent({"--max-steps-ahead", "0"}), "--max-steps-ahead"},
           Row{AsAgent({"--serve"}), "2 modes"},
           Row{AsAgent({"--socket-folder", "/tmp"}), "--serve"},
           Row{{"--selftest", "--listen", "a:1"}, "--agent"},
           Row{{"--selftest", "--server", "a:1"}, "--server: requires --serve or"},
           Row{{"--selftest", "--memory", "1GB"}, "--memory: requires --serve or"},
           Row{{"--selftest", "--http-listen", "a:1"}, "--http-listen: requires"},
           Row{{"--selftest", "--log-level", "info"}, "--log-level: requires"},
       }) {
    EXPECT_THAT(ReadWorkerCommand(row.arguments),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

}  // namespace
}  // namespace evenpack::worker
