#include "server/app/departed_peers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>

#include "server/runtime/hung_up.h"
#include "server/web/listener.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::RawClient;

// Both ends of a connection that is watched.
struct Link {
  RawClient client;
  FileDescriptor accepted;
  std::shared_ptr<CallCounts> calls = std::make_shared<CallCounts>();
};

class DepartedPeersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listeners = Listener::OpenAll({"127.0.0.1", 0});
    ASSERT_THAT(listeners, IsOk());
    listener_.emplace(std::move(listeners->front()));
    auto peers = DepartedPeers::Create();
    ASSERT_THAT(peers, IsOk());
    peers_.emplace(*std::move(peers));
  }

  Link Connect() {
    RawClient client(listener_->address().port);
    Link link{std::move(client), listener_->Accept()};
    peers_->Watch(link.accepted.get(), link.calls);
    return link;
  }

  std::optional<Listener> listener_;
  std::optional<DepartedPeers> peers_;
};

TEST_F(DepartedPeersTest, CallsOfPeersThatAreThereDoNotCount) {
  const Link link = Connect();
  link.calls->open = 5;
  link.client.Send(std::string(6400, 'x'));
  EXPECT_EQ(peers_->Held(), 0);
}

TEST_F(DepartedPeersTest, WhoHasLeftCountsUntilItIsClosedAndItsCallsHaveEnded) {
  Link reset = Connect();
  Link other = Connect();
  reset.calls->open = 5;
  other.calls->open = 7;
  reset.client.Reset();
  EXPECT_EQ(peers_->Held(), 6);
  other.client.Close();
  EXPECT_EQ(peers_->Held(), 6 + 8);
  reset.calls->open = 2;
  EXPECT_EQ(peers_->Held(), 3 + 8);
  reset.accepted = FileDescriptor();
  EXPECT_EQ(peers_->Held(), 3 + 8);
  reset.calls->open = 0;
  EXPECT_EQ(peers_->Held(), 8);
  other.calls->open = 0;
  EXPECT_EQ(peers_->Held(), 1);
  other.accepted = FileDescriptor();
  EXPECT_EQ(peers_->Held(), 0);
}

TEST_F(DepartedPeersTest, WhatWasSentCountsAsCallsUntilItIsClaimed) {
  Link link = Connect();
  link.client.Send(std::string(6400, 'x'));
  link.client.Close();
  EXPECT_EQ(peers_->Held(), 1 + 100);
  link.calls->claimed = 3200;
  link.calls->open = 3;
  EXPECT_EQ(peers_->Held(), 1 + 50 + 3);
  link.calls->claimed = 1 << 20;
  EXPECT_EQ(peers_->Held(), 1 + 3);
}

TEST_F(DepartedPeersTest, WhoLeftBeforeItWasWatchedCounts) {
  RawClient client(listener_->address().port);
  const FileDescriptor accepted = listener_->Accept();
  EXPECT_FALSE(HasHungUp(accepted.get()));
  client.Close();
  EXPECT_TRUE(HasHungUp(accepted.get()));
  peers_->Watch(accepted.get(), std::make_shared<CallCounts>());
  EXPECT_EQ(peers_->Held(), 1);
}

TEST_F(DepartedPeersTest, ANumberThatComesAgainIsAnotherConnection) {
  Link first = Connect();
  first.client.Reset();
  EXPECT_EQ(peers_->Held(), 1);
  const int number = first.accepted.get();
  first.accepted = FileDescriptor();
  const FileDescriptor other(socket(AF_INET, SOCK_STREAM, 0));
  const FileDescriptor again(fcntl(other.get(), F_DUPFD, number));
  ASSERT_EQ(again.get(), number);
  EXPECT_EQ(peers_->Held(), 0);
}

}  // namespace
}  // namespace evenpack
