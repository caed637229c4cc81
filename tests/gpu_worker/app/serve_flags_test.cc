#include "gpu_worker/app/serve_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/app/worker_options.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<std::string> Serving(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--serve", "--server", "packer:7",
                                        "--socket-folder", ::testing::TempDir()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ServeFlagsTest, HaveDefaults) {
  const auto command = ReadWorkerCommand(Serving({}));
  ASSERT_THAT(command, IsOk());
  const ServeOptions& serve = command->options.serve;
  EXPECT_TRUE(serve.serve);
  EXPECT_EQ(serve.server, "packer:7");
  EXPECT_EQ(serve.socket_folder, ::testing::TempDir());
  EXPECT_EQ(serve.trainer_user, geteuid());
  EXPECT_EQ(serve.memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(serve.patience_seconds, 1800U);
  EXPECT_EQ(serve.http_listen, "");
  EXPECT_EQ(serve.log_level, LogLevel::kInfo);
}

TEST(ServeFlagsTest, ReadWhatIsGiven) {
  const auto command = ReadWorkerCommand(Serving(
      {"--trainer-user", "77", "--memory", "3GB", "--patience-seconds", "5",
       "--log-level", "error", "--log-format", "json", "--host", "10.0.0.1",
       "--group-timeout-seconds", "9", "--threads", "3", "--http-listen", "[::]:0"}));
  ASSERT_THAT(command, IsOk());
  const ServeOptions& serve = command->options.serve;
  EXPECT_EQ(serve.trainer_user, 77U);
  EXPECT_EQ(serve.memory_bytes, uint64_t{3} << 30);
  EXPECT_EQ(serve.patience_seconds, 5U);
  EXPECT_EQ(serve.log_level, LogLevel::kError);
  EXPECT_EQ(serve.log_format, LogFormat::kJson);
  EXPECT_EQ(command->options.host, "10.0.0.1");
  EXPECT_EQ(command->options.group_timeout_seconds, 9U);
  EXPECT_EQ(command->options.threads, 3U);
  EXPECT_EQ(serve.http_listen, "[::]:0");
}

TEST(ServeFlagsTest, ReadSizesWithAndWithoutUnits) {
  for (const auto& [text, bytes] :
       {std::pair{"4096", uint64_t{4096}}, std::pair{"1536mb", uint64_t{1536} << 20},
        std::pair{"2 GB", uint64_t{2} << 30}, std::pair{"1TiB", uint64_t{1} << 40}}) {
    const auto command = ReadWorkerCommand(Serving({"--memory", text}));
    ASSERT_THAT(command, IsOk()) << text;
    EXPECT_EQ(command->options.serve.memory_bytes, bytes) << text;
  }
}

TEST(ServeFlagsTest, RefuseByNameWhatTheyDoNotTake) {
  struct Row {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Row& row : {
           Row{{"--serve"}, "--server: missing"},
           Row{{"--serve", "--server", "a:1"}, "--socket-folder: missing"},
           Row{Serving({"--memory", "0"}), "--memory"},
           Row{Serving({"--memory", "17TB"}), "--memory"},
           Row{Serving({"--memory", "1.5GB"}),
               "--memory: '1.5GB' is not accepted; accepted: a whole number of bytes"},
           Row{Serving({"--memory", "8 parsecs"}), "--memory: '8 parsecs' is not"},
           Row{Serving({"--memory", "9999999999999999999GB"}), "--memory: '99999"},
           Row{Serving({"--memory", "GB"}), "--memory: 'GB' is not accepted"},
           Row{Serving({"--trainer-user", "root"}), "--trainer-user"},
           Row{Serving({"--patience-seconds", "0"}), "--patience-seconds"},
           Row{Serving({"--log-level", "loud"}), "--log-level"},
           Row{{"--server", "a:1"}, "--serve"},
           Row{{"--selftest", "--http-listen", "a:1"}, "--serve"},
           Row{Serving({"--selftest"}), "2 modes"},
       }) {
    EXPECT_THAT(ReadWorkerCommand(row.arguments),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

}  // namespace
}  // namespace evenpack::worker
