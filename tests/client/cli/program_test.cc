#include "client/cli/program.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string LengthsFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::vector<std::string> Pack(const std::string& path) {
  return {"pack", "--lengths", path, "--policy", "wlb", "--micro-batches",
          "2",    "--window",  "100"};
}

TEST(ProgramTest, WritesOneLineAndNothingElseForBadInput) {
  const std::string path = LengthsFile("program_test_bad.txt", "5\n-5\n");
  const ProgramResult result = RunProgram(Pack(path));
  EXPECT_EQ(result.exit_code, kExitBadInput);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "evenpackctl: line 2: '-5' is not accepted; accepted: a document length in "
            "tokens, 1 to 2147483647\n");
}

TEST(ProgramTest, KeepsAnErrorOnOneLineWhateverItNames) {
  const ProgramResult result = RunProgram({"pa\nck"});
  EXPECT_EQ(result.exit_code, kExitBadInput);
  EXPECT_THAT(result.err,
              StartsWith("evenpackctl: command: 'pa\\nck' is not accepted"));
}

TEST(ProgramTest, WritesAReport) {
  const std::string path = LengthsFile("program_test_good.txt", "50\n60\n90\n");
  const ProgramResult result = RunProgram(Pack(path));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("3 in, 3 out, 0 left over"));
}

TEST(ProgramTest, NotesFlagsWithoutEffect) {
  const std::string path = LengthsFile("program_test_note.txt", "50\n");
  std::vector<std::string> arguments = Pack(path);
  arguments.insert(arguments.end(), {"--split-documents", "true"});
  const ProgramResult result = RunProgram(arguments);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "evenpackctl: note: --split-documents has no effect here\n");
}

}  // namespace
}  // namespace evenpack
