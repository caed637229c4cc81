#include "gpu_worker/app/worker_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WorkerOptionsTest, HelpNamesEveryFlag) {
  const auto command = ReadWorkerCommand({"--help"});
  ASSERT_TRUE(command.ok());
  EXPECT_THAT(command->text,
              AllOf(HasSubstr("--selftest"), HasSubstr("--cases"), HasSubstr("--seed"),
                    HasSubstr("--first-case"), HasSubstr("--max-ranks"),
                    HasSubstr("--max-length"), HasSubstr("--threads"),
                    HasSubstr("--json"), HasSubstr("--version")));
  // Or what follows it would not be printed.
  EXPECT_EQ(command->text.find('\0'), std::string::npos);
  EXPECT_THAT(ReadWorkerCommand({"--version"})->text, StartsWith("evenpack-worker "));
}

TEST(WorkerOptionsTest, ReadsWhatIsGiven) {
  const auto command = ReadWorkerCommand(
      {"--selftest", "--cases", "3", "--seed", "4", "--first-case", "5", "--max-ranks",
       "6", "--max-length", "7", "--threads", "8", "--json"});
  ASSERT_TRUE(command.ok()) << command.status();
  const WorkerOptions& options = command->options;
  EXPECT_TRUE(options.selftest);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.selftest_options.cases, 3U);
  EXPECT_EQ(options.selftest_options.seed, 4U);
  EXPECT_EQ(options.selftest_options.first_case, 5U);
  EXPECT_EQ(options.selftest_options.max_ranks, 6U);
  EXPECT_EQ(options.selftest_options.max_length, 7U);
  EXPECT_EQ(options.threads, 8U);
}

TEST(WorkerOptionsTest, ASidecarComputesWhereItIsTold) {
  const std::vector<std::string> serve = {"--serve", "--server", "a:1",
                                          "--socket-folder", "/tmp"};
  const auto on = [&](const std::vector<std::string>& device) {
    std::vector<std::string> flags = serve;
    flags.insert(flags.end(), device.begin(), device.end());
    return ReadWorkerCommand(flags);
  };
  EXPECT_EQ(on({})->options.cuda_device, std::nullopt);
  EXPECT_EQ(on({"--device", "cpu"})->options.cuda_device, std::nullopt);
  EXPECT_EQ(on({"--device", "cuda"})->options.cuda_device, 0);
  EXPECT_EQ(on({"--device", "cuda:3"})->options.cuda_device, 3);
  const auto accepted = [&](std::vector<std::string> flags) {
    return on(std::move(flags))
        ->options.selftest_options.accepted(ElementType::kBfloat16);
  };
  EXPECT_EQ(accepted({"--device", "cpu"}), AcceptedError(ElementType::kBfloat16));
  EXPECT_EQ(accepted({"--device", "cuda"}),
            AcceptedErrorOfCudnn(ElementType::kBfloat16));
  EXPECT_THAT(on({"--device", "cuda:x"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'cuda:x' is not accepted; accepted: cpu, cuda or")));
}

TEST(WorkerOptionsTest, ARankOfAGroupRunsCasesOfThatManyRanks) {
  const std::string folder = ::testing::TempDir();
  const auto command = ReadWorkerCommand(
      {"--selftest", "--group-folder", folder, "--group", "g", "--ranks", "3", "--rank",
       "2", "--host", "localhost", "--group-timeout-seconds", "9"});
  ASSERT_TRUE(command.ok()) << command.status();
  ASSERT_TRUE(command->options.group.has_value());
  const GlooFolder& group = *command->options.group;
  EXPECT_EQ(group.folder, folder);
  EXPECT_EQ(group.group, "g");
  EXPECT_EQ(group.options.ranks, 3U);
  EXPECT_EQ(group.options.rank, 2U);
  EXPECT_EQ(group.options.host, "localhost");
  EXPECT_EQ(group.options.connect_timeout, std::chrono::seconds(9));
  EXPECT_EQ(group.options.exchange_timeout, std::chrono::seconds(9));
  EXPECT_EQ(command->options.selftest_options.min_ranks, 3U);
  EXPECT_EQ(command->options.selftest_options.max_ranks, 3U);
}

TEST(WorkerOptionsTest, RefusesByNameWhatItDoesNotTake) {
  struct Row {
    std::vector<std::string> arguments;
    std::string message;
  };
  const Row rows[] = {
      {{}, "accepted: --selftest"},
      {{"--selftest", "--cases", "0"}, "--cases"},
      {{"--selftest", "--cases", "x"}, "--cases"},
      {{"--selftest", "--max-ranks", "65"}, "--max-ranks"},
      {{"--selftest", "--max-length", "4097"}, "--max-length"},
      {{"--selftest", "--threads", "0"}, "--threads"},
      {{"--selftest", "--seed", "-1"}, "--seed"},
      {{"--selftest", "--nonsense"}, "--nonsense"},
      {{"--selftest", "--rank", "0"}, "--group-folder"},
      {{"--selftest", "--group-folder", "/nowhere/at/all"}, "/nowhere/at/all"},
      {{"--selftest", "--group-folder", ::testing::TempDir(), "--ranks", "2", "--rank",
        "2"},
       "--rank: 2 is not accepted; accepted: 0 to --ranks - 1, 1"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ReadWorkerCommand(row.arguments),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
  }
}

}  // namespace
}  // namespace evenpack::worker
