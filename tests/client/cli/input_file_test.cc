#include "client/cli/input_file.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;

std::string File(const std::string& content) {
  return ScratchFile("input_file_test.txt", content);
}

TEST(InputFileTest, ReadsToTheEndAndKnowsHowFarItIs) {
  auto file = InputFile::Open("--f", File("abcde"), "a file");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), 5U);
  EXPECT_TRUE(file->IsReady());
  std::array<char, 3> buffer{};
  EXPECT_EQ(*file->Read(buffer.data(), buffer.size()), 3U);
  EXPECT_EQ(std::string(buffer.data(), 3), "abc");
  EXPECT_EQ(file->position(), 3U);
  EXPECT_EQ(*file->Read(buffer.data(), buffer.size()), 2U);
  EXPECT_EQ(*file->Read(buffer.data(), buffer.size()), 0U);
  EXPECT_EQ(file->position(), 5U);
}

TEST(InputFileTest, HasNoSizeWhereItIsNoRegularFile) {
  const auto file = InputFile::Open("--f", "/dev/null", "a file");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), 0U);
}

TEST(InputFileTest, NamesFlagAndPathOfWhatCannotBeRead) {
  EXPECT_THAT(InputFile::Open("--f", "/no/such/file", "a file"),
              StatusIs(kInvalid,
                       "--f: '/no/such/file' (No such file or directory) is not "
                       "accepted; accepted: a file"));
  EXPECT_THAT(
      ReadWholeFile("--f", "/dev", "a file", 10),
      StatusIs(kInvalid,
               "--f: '/dev' (Is a directory) is not accepted; accepted: a file"));
}

TEST(ReadWholeFileTest, ReadsUpToItsLimit) {
  const auto content = ReadWholeFile("--f", File("abc\n"), "a file", 4);
  ASSERT_THAT(content, IsOk());
  EXPECT_EQ(*content, "abc\n");
  const std::string path = File("abcd\n");
  EXPECT_THAT(ReadWholeFile("--f", path, "a file", 4),
              StatusIs(kInvalid, "--f: '" + path +
                                     "' is not accepted; accepted: a file of at most "
                                     "4 bytes"));
}

}  // namespace
}  // namespace evenpack
