#include "server/runtime/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace evenpack {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(FileDescriptorTest, ClosesAtTheEnd) {
  const int fd = OpenNull();
  {
    const FileDescriptor owner(fd);
    EXPECT_TRUE(owner.valid());
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(FileDescriptorTest, IsPassedOnOpen) {
  const int fd = OpenNull();
  FileDescriptor first(fd);
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(second.get(), fd);
  EXPECT_TRUE(IsOpen(fd));
}

TEST(FileDescriptorTest, ClosesWhatItHadWhenItIsGivenAnother) {
  const int old_fd = OpenNull();
  const int new_fd = OpenNull();
  FileDescriptor owner(old_fd);
  owner = FileDescriptor(new_fd);
  EXPECT_EQ(owner.get(), new_fd);
  EXPECT_FALSE(IsOpen(old_fd));
  EXPECT_TRUE(IsOpen(new_fd));
}

TEST(FileDescriptorTest, ClosesWhatItHadThoughTheOtherLivesOn) {
  const int old_fd = OpenNull();
  FileDescriptor owner(old_fd);
  FileDescriptor other(OpenNull());
  owner = std::move(other);
  EXPECT_FALSE(IsOpen(old_fd));
  EXPECT_FALSE(other.valid());
}

TEST(FileDescriptorTest, AFailedCallsResultIsNone) {
  EXPECT_FALSE(FileDescriptor(-1).valid());
  EXPECT_FALSE(FileDescriptor().valid());
}

}  // namespace
}  // namespace evenpack
