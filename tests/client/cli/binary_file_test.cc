#include "client/cli/binary_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;

class BinaryFileTest : public ::testing::Test {
 protected:
  std::string Written(const std::string& content) {
    const std::string path = directory_.File("file");
    std::ofstream(path) << content;
    return path;
  }

  ScratchDirectory directory_;
};

TEST_F(BinaryFileTest, ReadsAtAnyPlace) {
  auto opened = BinaryFile::Open("--f", Written("abcdef"), "a file");
  ASSERT_THAT(opened, IsOk());
  const BinaryFile file = *std::move(opened);
  EXPECT_EQ(file.size(), 6U);
  std::array<char, 3> bytes{};
  for (const auto& [offset, content] :
       {std::pair{3U, "def"}, std::pair{0U, "abc"}, std::pair{1U, "bcd"}}) {
    ASSERT_THAT(file.ReadAt(offset, bytes), IsOk());
    EXPECT_EQ(std::string(bytes.data(), bytes.size()), content);
  }
}

TEST_F(BinaryFileTest, SaysWhereTheFileEnds) {
  const std::string path = Written("abcdef");
  const auto file = BinaryFile::Open("--f", path, "a file");
  ASSERT_THAT(file, IsOk());
  std::array<char, 3> bytes{};
  EXPECT_THAT(file->ReadAt(4, bytes),
              StatusIs(kInvalid, "--f: '" + path +
                                     "' (ends at byte 6) is not accepted; accepted: "
                                     "a file"));
}

// A file that is cut while it is read.
TEST_F(BinaryFileTest, AFileThatGotShorterIsAnError) {
  const std::string path = Written("abcdef");
  const auto file = BinaryFile::Open("--f", path, "a file");
  ASSERT_THAT(file, IsOk());
  std::filesystem::resize_file(path, 1);
  std::array<char, 3> bytes{};
  EXPECT_THAT(file->ReadAt(0, bytes),
              StatusIs(kInvalid, ::testing::HasSubstr("(ends at byte 1)")));
}

TEST_F(BinaryFileTest, RefusesWhatIsNoRegularFile) {
  const std::string pipe = directory_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, directory_.path(), std::string("/dev/null")}) {
    EXPECT_THAT(BinaryFile::Open("--f", path, "a file"),
                StatusIs(kInvalid, "--f: '" + path +
                                       "' (not a regular file) is not accepted; "
                                       "accepted: a file"));
  }
  EXPECT_THAT(BinaryFile::Open("--f", "/no/such", "a file"),
              StatusIs(kInvalid,
                       "--f: '/no/such' (No such file or directory) is not accepted; "
                       "accepted: a file"));
}

}  // namespace
}  // namespace evenpack
