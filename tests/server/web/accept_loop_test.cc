#include "server/web/accept_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "server/runtime/mutex.h"
#include "server/web/listener.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/descriptor_limit.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using std::chrono::milliseconds;
using testing::DescriptorLimit;
using testing::IsOk;
using testing::RawClient;

class AcceptLoopTest : public ::testing::Test {
 protected:
  void Start() {
    auto loop = AcceptLoop::Create({.take =
                                        [this](FileDescriptor connection) {
                                          MutexLock lock(mutex_);
                                          taken_.push_back(std::move(connection));
                                          changed_.SignalAll();
                                        },
                                    .pause = [this] { return Pause(); }});
    ASSERT_THAT(loop, IsOk());
    loop_ = *std::move(loop);
    loop_->Start({first_.fd(), second_.fd()});
  }
  milliseconds Pause() {
    MutexLock lock(mutex_);
    ++asked_;
    changed_.SignalAll();
    return milliseconds(pauses_ ? 1 : 0);
  }
  void AwaitTaken(size_t count) {
    MutexLock lock(mutex_);
    while (taken_.size() < count) changed_.Wait(mutex_);
  }
  void AwaitAsked(size_t more) {
    MutexLock lock(mutex_);
    const size_t enough = asked_ + more;
    while (asked_ < enough) changed_.Wait(mutex_);
  }
  size_t taken() {
    MutexLock lock(mutex_);
    return taken_.size();
  }
  void SetPauses(bool pauses) {
    MutexLock lock(mutex_);
    pauses_ = pauses;
  }
  void CloseTaken() {
    MutexLock lock(mutex_);
    taken_.clear();
  }

  Listener first_ = Listener::Open({"127.0.0.1", 0}).value();
  Listener second_ = Listener::Open({"127.0.0.1", 0}).value();
  std::unique_ptr<AcceptLoop> loop_;

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<FileDescriptor> taken_ EVENPACK_GUARDED_BY(mutex_);
  size_t asked_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool pauses_ EVENPACK_GUARDED_BY(mutex_) = false;
};

TEST_F(AcceptLoopTest, ConnectionsOfAllListenersAreTakenUntilItStops) {
  Start();
  const RawClient one(first_.address().port);
  const RawClient other(second_.address().port);
  AwaitTaken(2);
  loop_->Stop();
  loop_->Stop();
  const RawClient late(first_.address().port);
  EXPECT_TRUE(late.connected());
  EXPECT_EQ(taken(), 2U);
}

TEST_F(AcceptLoopTest, NoneIsTakenWhileItIsToPause) {
  SetPauses(true);
  Start();
  const RawClient client(first_.address().port);
  AwaitAsked(3);
  EXPECT_EQ(taken(), 0U);
  SetPauses(false);
  AwaitTaken(1);
}

TEST_F(AcceptLoopTest, WhoHasLeftMeanwhileIsNotTaken) {
  SetPauses(true);
  Start();
  RawClient(first_.address().port).Reset();
  const RawClient stays(first_.address().port);
  SetPauses(false);
  AwaitTaken(1);
  const RawClient last(first_.address().port);
  AwaitTaken(2);
  EXPECT_EQ(taken(), 2U);
}

TEST_F(AcceptLoopTest, WhatGetsOneOfTheLastDescriptorsIsClosedAndLaterOnesAreTaken) {
  Start();
  {
    const DescriptorLimit limit(128);
    std::deque<RawClient> clients;
    // Each takes two here, where both ends are.
    while (clients.size() < 64) {
      const size_t before = taken();
      const RawClient& client = clients.emplace_back(first_.address().port);
      ASSERT_TRUE(client.connected());
      while (taken() == before && !client.HasMore(milliseconds(1))) {
      }
      if (taken() == before) break;
    }
    EXPECT_LT(clients.size(), 64U);
    EXPECT_EQ(clients.back().Receive(1), "");
    CloseTaken();
  }
  const RawClient later(first_.address().port);
  AwaitTaken(1);
}

}  // namespace
}  // namespace evenpack
