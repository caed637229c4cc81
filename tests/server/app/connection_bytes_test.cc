#include "server/app/connection_bytes.h"

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

TEST(ConnectionBytesTest, AllThatCameCountsAndAllThatWent) {
  auto listeners = Listener::OpenAll({"127.0.0.1", 0});
  ASSERT_THAT(listeners, IsOk());
  Listener& listener = listeners->front();
  const RawClient client(listener.address().port);
  const FileDescriptor accepted = listener.Accept();
  ASSERT_TRUE(accepted.valid());
  EXPECT_EQ(BytesOf(accepted.get())->received, 0U);
  client.Send("twelve bytes");
  std::array<char, 12> bytes{};
  ASSERT_EQ(recv(accepted.get(), bytes.data(), 5, MSG_WAITALL), 5);
  // Whether it was read or not.
  EXPECT_EQ(BytesOf(accepted.get())->received, 12U);
  ASSERT_EQ(recv(accepted.get(), bytes.data(), 7, MSG_WAITALL), 7);
  EXPECT_EQ(BytesOf(accepted.get())->received, 12U);
  const uint64_t sent = BytesOf(accepted.get())->sent;
  ASSERT_EQ(send(accepted.get(), "five!", 5, 0), 5);
  EXPECT_EQ(client.Receive(5), "five!");
  EXPECT_EQ(BytesOf(accepted.get())->sent, sent + 5);
}

TEST(ConnectionBytesTest, WhatIsNoConnectionHasNone) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  const FileDescriptor first(pair[0]);
  const FileDescriptor second(pair[1]);
  EXPECT_FALSE(BytesOf(first.get()).has_value());
  EXPECT_FALSE(BytesOf(-1).has_value());
}

}  // namespace
}  // namespace evenpack
