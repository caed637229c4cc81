#include "server/runtime/hung_up.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace evenpack {
namespace {

class HungUpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
  }
  void TearDown() override {
    for (const int end : ends_) close(end);
  }

  int ends_[2] = {-1, -1};
};

TEST_F(HungUpTest, SeesThatTheOtherEndHasGone) {
  EXPECT_FALSE(HasHungUp(ends_[0]));
  close(ends_[1]);
  EXPECT_TRUE(HasHungUp(ends_[0]));
  ends_[1] = -1;
}

TEST_F(HungUpTest, SeesItBehindWhatIsUnread) {
  ASSERT_EQ(send(ends_[1], "x", 1, 0), 1);
  EXPECT_FALSE(HasHungUp(ends_[0]));
  shutdown(ends_[1], SHUT_WR);
  EXPECT_TRUE(HasHungUp(ends_[0]));
}

TEST_F(HungUpTest, WhatIsNoSocketHasHungUp) {
  const int closed = dup(ends_[0]);
  close(closed);
  EXPECT_TRUE(HasHungUp(closed));
}

}  // namespace
}  // namespace evenpack
