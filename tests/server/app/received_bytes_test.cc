#include "server/app/received_bytes.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "server/web/listener.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::RawClient;

TEST(ReceivedBytesTest, AllThatAConnectionSentCounts) {
  auto listeners = Listener::OpenAll({"127.0.0.1", 0});
  ASSERT_THAT(listeners, IsOk());
  Listener& listener = listeners->front();
  const RawClient client(listener.address().port);
  const FileDescriptor accepted = listener.Accept();
  ASSERT_TRUE(accepted.valid());
  EXPECT_EQ(ReceivedBytes(accepted.get()), 0U);
  client.Send("twelve bytes");
  std::array<char, 12> bytes{};
  ASSERT_EQ(recv(accepted.get(), bytes.data(), 5, MSG_WAITALL), 5);
  // Whether it was read or not.
  EXPECT_EQ(ReceivedBytes(accepted.get()), 12U);
  ASSERT_EQ(recv(accepted.get(), bytes.data(), 7, MSG_WAITALL), 7);
  EXPECT_EQ(ReceivedBytes(accepted.get()), 12U);
}

TEST(ReceivedBytesTest, WhatIsNoConnectionHasNone) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  const FileDescriptor first(pair[0]);
  const FileDescriptor second(pair[1]);
  EXPECT_FALSE(ReceivedBytes(first.get()).has_value());
  EXPECT_FALSE(ReceivedBytes(-1).has_value());
}

}  // namespace
}  // namespace evenpack
