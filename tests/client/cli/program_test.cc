#include "client/cli/program.h"

#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/cli/online/test_context.h"
#include "tests/testing/scratch_path.h"

namespace evenpack {
namespace {

using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::TestContext;
using ::testing::HasSubstr;
using ::testing::Return;
using ::testing::StartsWith;

std::string LengthsFile(const std::string& name, const std::string& text) {
  return ScratchFile(name, text);
}

std::vector<std::string> Pack(const std::string& path) {
  return {"pack", "--lengths", path, "--policy", "wlb", "--micro-batches",
          "2",    "--window",  "100"};
}

TEST(ProgramTest, WritesOneLineAndNothingElseForBadInput) {
  TestContext context;
  const std::string path = LengthsFile("program_test_bad.txt", "5\n-5\n");
  EXPECT_EQ(RunProgram(Pack(path), context.Get()), kExitBadInput);
  EXPECT_EQ(context.out.text(), "");
  EXPECT_EQ(context.err.text(),
            "evenpackctl: line 2: '-5' is not accepted; accepted: a document length in "
            "tokens, 1 to 2147483647\n");
}

TEST(ProgramTest, KeepsAnErrorOnOneLineWhateverItNames) {
  TestContext context;
  EXPECT_EQ(RunProgram({"pa\nck"}, context.Get()), kExitBadInput);
  EXPECT_THAT(context.err.text(),
              StartsWith("evenpackctl: command: 'pa\\nck' is not accepted"));
}

TEST(ProgramTest, WritesAReport) {
  TestContext context;
  const std::string path = LengthsFile("program_test_good.txt", "50\n60\n90\n");
  EXPECT_EQ(RunProgram(Pack(path), context.Get()), 0);
  EXPECT_EQ(context.err.text(), "");
  EXPECT_THAT(context.out.text(), HasSubstr("3 in, 3 out, 0 left over"));
}

TEST(ProgramTest, NotesFlagsWithoutEffect) {
  TestContext context;
  const std::string path = LengthsFile("program_test_note.txt", "50\n");
  std::vector<std::string> arguments = Pack(path);
  arguments.insert(arguments.end(), {"--split-documents", "true"});
  EXPECT_EQ(RunProgram(arguments, context.Get()), 0);
  EXPECT_EQ(context.err.text(),
            "evenpackctl: note: --split-documents has no effect here\n");
  TestContext of_shard;
  EXPECT_EQ(RunProgram({"shard", "--lengths", path, "--cp", "2", "--sharding",
                        "per_document", "--hybrid-tolerance", "3"},
                       of_shard.Get()),
            0);
  EXPECT_EQ(of_shard.err.text(),
            "evenpackctl: note: --hybrid-tolerance has no effect here\n");
}

TEST(ProgramTest, TheExitCodeSaysWhatKindOfErrorTheServerGave) {
  const std::vector<std::pair<absl::StatusCode, int>> cases = {
      {absl::StatusCode::kOk, 0},
      {absl::StatusCode::kInvalidArgument, kExitBadInput},
      {absl::StatusCode::kNotFound, kExitRefused},
      {absl::StatusCode::kAlreadyExists, kExitRefused},
      {absl::StatusCode::kAborted, kExitRefused},
      {absl::StatusCode::kOutOfRange, kExitRefused},
      {absl::StatusCode::kDataLoss, kExitRefused},
      {absl::StatusCode::kResourceExhausted, kExitRefused},
      {absl::StatusCode::kUnimplemented, kExitRefused},
      {absl::StatusCode::kInternal, kExitRefused},
      // Not asked for by Ctrl-C.
      {absl::StatusCode::kCancelled, kExitRefused},
      {absl::StatusCode::kUnavailable, kExitUnavailable},
      {absl::StatusCode::kDeadlineExceeded, kExitUnavailable},
  };
  for (const auto& [code, exit_code] : cases) {
    TestContext context;
    EXPECT_CALL(*context.connection, DeleteJob("a"))
        .WillOnce(Return(absl::Status(code, "no\nway")));
    EXPECT_EQ(RunProgram({"jobs", "delete", "a"}, context.Get()), exit_code);
    EXPECT_EQ(context.err.text(), exit_code == 0 ? "" : "evenpackctl: no\\nway\n");
  }
}

TEST(ProgramTest, AnInterruptIsNoError) {
  for (const auto& [signal, exit_code] : {std::pair(SIGINT, 130), {SIGTERM, 143}}) {
    TestContext context;
    context.interrupt.Request(signal);
    EXPECT_CALL(*context.connection, DeleteJob("a"))
        .WillOnce(Return(absl::CancelledError("cancelled")));
    EXPECT_EQ(RunProgram({"jobs", "delete", "a"}, context.Get()), exit_code);
    EXPECT_EQ(context.err.text(), "");
  }
}

}  // namespace
}  // namespace evenpack
