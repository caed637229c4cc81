#include "server/store/file_system_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace evenpack
