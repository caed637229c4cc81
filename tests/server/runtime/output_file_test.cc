#include "server/runtime/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "tests/testing/file_bytes.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

namespace fs = std::filesystem;
using ::evenpack::testing::FileBytes;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScratchDirectory;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status Write(const std::string& path, const std::string& text) {
  absl::StatusOr<OutputFile> file = OutputFile::Open("--output", path);
  return file.ok() ? file->Commit(text) : file.status();
}

class OutputFileTest : public ::testing::Test {
 protected:
  // Files of the directory, whatever they are.
  size_t Files() const {
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      files += entry.exists() ? 1 : 0;
    }
    return files;
  }

  const ScratchDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(OutputFileTest, ReplacesWhatThereWasAndKeepsItsMode) {
  ASSERT_THAT(Write(path_, "an older and longer one"), IsOk());
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  ASSERT_THAT(Write(path_, std::string("\0new", 4)), IsOk());
  EXPECT_EQ(FileBytes(path_), std::string("\0new", 4));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, WhatThereWasStaysUntilAllIsWritten) {
  ASSERT_THAT(Write(path_, "before"), IsOk());
  {
    const absl::StatusOr<OutputFile> file = OutputFile::Open("--output", path_);
    ASSERT_THAT(file.status(), IsOk());
    EXPECT_EQ(FileBytes(path_), "before");
  }
  EXPECT_EQ(FileBytes(path_), "before");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, ALinkStaysOne) {
  ASSERT_THAT(Write(path_, "before"), IsOk());
  const std::string link = directory_.File("link");
  fs::create_symlink("file", link);
  ASSERT_THAT(Write(link, "after"), IsOk());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(FileBytes(path_), "after");
}

TEST_F(OutputFileTest, WhatIsNoFileIsWrittenInto) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = FileBytes(path_); });
  EXPECT_THAT(Write(path_, "text"), IsOk());
  reader.join();
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(fs::is_fifo(path_));
  EXPECT_THAT(Write("/dev/null", "text"), IsOk());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT(Write("/dev/full", "text"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("No space left")));
}

TEST_F(OutputFileTest, WhatCanNotBeWrittenIsNamedBefore) {
  const auto refused = [](const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("--output: '"), HasSubstr(why),
                          HasSubstr("accepted: a file in a directory")));
  };
  EXPECT_THAT(OutputFile::Open("--output", directory_.File("none/file")).status(),
              refused("can't be written: No such file"));
  EXPECT_THAT(OutputFile::Open("--output", directory_.path()).status(),
              refused("Is a directory"));
  EXPECT_EQ(Files(), 0U);
}

}  // namespace
}  // namespace evenpack
