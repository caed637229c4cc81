#include "server/store/file_system_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

TEST(FileSystemCheckTest, NamesNetworkFileSystemsAlone) {
  EXPECT_EQ(NetworkFileSystem(0x6969), "NFS");
  EXPECT_EQ(NetworkFileSystem(0xFF534D42), "CIFS");
  EXPECT_EQ(NetworkFileSystem(0x0BD00BD0), "Lustre");
  EXPECT_EQ(NetworkFileSystem(0xEF53), "") << "ext4";
  EXPECT_EQ(NetworkFileSystem(0x58465342), "") << "XFS";
  EXPECT_EQ(NetworkFileSystem(0x794c7630), "") << "overlayfs";
}

TEST(FileSystemCheckTest, TakesAFileToBeOnALocalDisk) {
  const ScratchDirectory directory;
  EXPECT_THAT(CheckFileSystem(directory.File("store")), IsOk());
  EXPECT_THAT(CheckFileSystem("store"), IsOk());
}

TEST(FileSystemCheckTest, NamesTheDirectoryThatIsNotThere) {
  EXPECT_THAT(CheckFileSystem("/no such/store"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'/no such'")));
}

TEST(FileSystemCheckTest, ADirectoryIsNoStore) {
  const ScratchDirectory directory;
  EXPECT_THAT(CheckFileSystem(directory.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("' is a directory; accepted: a file in one")));
  EXPECT_THAT(CheckFileSystem(directory.path() + "/"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("' is a directory; accepted: a file in one")));
}

// Whoever opened it would wait for who writes it.
TEST(FileSystemCheckTest, APipeOrADeviceIsNoStore) {
  const ScratchDirectory directory;
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    EXPECT_THAT(CheckFileSystem(path),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("'" + path + "' is a pipe or a device")));
  }
}

}  // namespace
}  // namespace evenpack
