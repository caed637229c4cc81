#include "server/runtime/file_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::ScratchDirectory;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(FileTextTest, HasAllOfAFile) {
  const ScratchDirectory folder;
  const std::string path = folder.File("file");
  for (const std::string& text :
       {std::string(), std::string("a\0b\n", 4), std::string(10'000, 'x'),
        std::string(1 << 20, 'y')}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto read = ReadFileText("roles", path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, text);
  }
}

TEST(FileTextTest, NamesTheFlagAndTheFileThatItCannotRead) {
  const ScratchDirectory folder;
  const std::string large = folder.File("large");
  std::ofstream(large) << std::string((1 << 20) + 1, 'x');
  for (const std::string& path : {folder.File("none"), folder.path(), large}) {
    EXPECT_THAT(
        ReadFileText("roles", path),
        StatusIs(kInvalid, AllOf(StartsWith("roles: '" + path + "' can't be read"),
                                 HasSubstr("accepted: a file"))));
  }
}

}  // namespace
}  // namespace evenpack
