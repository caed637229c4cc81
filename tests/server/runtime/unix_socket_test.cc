#include "server/runtime/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>
#include <string>
#include <vector>

#include "server/runtime/hung_up.h"
#include "tests/testing/descriptor_limit.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(UnixSocketTest, ConnectsToWhoListens) {
  const ScratchDirectory folder;
  const auto listening = ListenAt(folder.File("a.sock"), 0600);
  ASSERT_THAT(listening, IsOk());
  struct stat found {};
  ASSERT_EQ(stat(folder.File("a.sock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_THAT(ConnectTo(folder.File("a.sock")), IsOk());
}

TEST(UnixSocketTest, NobodyWhoListensIsUnavailable) {
  const ScratchDirectory folder;
  EXPECT_THAT(ConnectTo(folder.File("a.sock")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("a.sock")));
}

TEST(UnixSocketTest, AFileThatWasLeftIsReplaced) {
  const ScratchDirectory folder;
  { ASSERT_THAT(ListenAt(folder.File("a.sock"), 0600), IsOk()); }
  const auto listening = ListenAt(folder.File("a.sock"), 0600);
  ASSERT_THAT(listening, IsOk());
  EXPECT_THAT(ConnectTo(folder.File("a.sock")), IsOk());
}

TEST(UnixSocketTest, WhatIsInUseOrNoSocketIsLeftAlone) {
  const ScratchDirectory folder;
  const auto listening = ListenAt(folder.File("a.sock"), 0600);
  ASSERT_THAT(listening, IsOk());
  EXPECT_THAT(ListenAt(folder.File("a.sock"), 0600),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("listens")));
  std::ofstream(folder.File("notes")) << "mine";
  EXPECT_THAT(ListenAt(folder.File("notes"), 0600),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("not a socket")));
}

// As another user's may be.
TEST(UnixSocketTest, ASocketThatDoesNotTellIsLeftAlone) {
  const ScratchDirectory folder;
  const FileDescriptor other(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.File("a.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(
      bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
      0);
  EXPECT_THAT(ListenAt(folder.File("a.sock"), 0600),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is not known")));
}

TEST(UnixSocketTest, ThatThereIsNoDescriptorLeftIsSaid) {
  const ScratchDirectory directory;
  const std::string path = directory.File("socket");
  const auto listening = ListenAt(path, 0600);
  ASSERT_THAT(listening, IsOk());
  std::vector<absl::Status> refused;
  {
    // A sanitizer that looks at an object's type wants a descriptor, too.
    const testing::DescriptorLimit none(static_cast<rlim_t>(listening->get()));
    refused = {ConnectTo(path).status(),
               ListenAt(directory.File("other"), 0600).status()};
  }
  for (const absl::Status& status : refused) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr("a socket can't be had: Too many open")));
  }
}

TEST(UnixSocketTest, PathsThatNoSocketCanHaveAreRefused) {
  for (const std::string& path : {std::string(), std::string(108, 'x')}) {
    EXPECT_THAT(ListenAt(path, 0600), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("1 to 107 bytes")));
    EXPECT_THAT(ConnectTo(path), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("1 to 107 bytes")));
  }
  EXPECT_THAT(
      ListenAt("/nowhere/at/all", 0600),
      StatusIs(absl::StatusCode::kNotFound,
               "listening at /nowhere/at/all failed: No such file or directory"));
}

TEST(UnixSocketTest, WhoHangsUpHasGoneForBothEnds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor own(ends[0]);
  const FileDescriptor other(ends[1]);
  HangUp(own.get());
  EXPECT_TRUE(HasHungUp(own.get()));
  EXPECT_TRUE(HasHungUp(other.get()));
}

}  // namespace
}  // namespace evenpack
