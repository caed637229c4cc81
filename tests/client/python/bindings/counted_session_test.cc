#include "client/python/bindings/counted_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace evenpack::python {
namespace {

// What became of a session.
struct Fate {
  std::atomic<int> cancels = 0;
  std::atomic<bool> may_cancel = true;
  std::atomic<int> in_cancel = 0;
  std::atomic<bool> was_destroyed_in_cancel = false;
  std::atomic<int> destroyed = 0;
};

void Await(const std::atomic<bool>& event) {
  while (!event) std::this_thread::yield();
}

class FatedSession {
 public:
  explicit FatedSession(Fate& fate) : fate_(fate) {}
  ~FatedSession() {
    if (fate_.in_cancel > 0) fate_.was_destroyed_in_cancel = true;
    ++fate_.destroyed;
  }
  FatedSession(const FatedSession&) = delete;
  FatedSession& operator=(const FatedSession&) = delete;

  void Cancel() const {
    // It may be gone behind the wait.
    Fate& fate = fate_;
    ++fate.in_cancel;
    ++fate.cancels;
    Await(fate.may_cancel);
    --fate.in_cancel;
  }

 private:
  Fate& fate_;
};

class CountedSessionTest : public ::testing::Test {
 protected:
  Fate fate_;
  CountedSession<FatedSession> counted_{std::make_unique<FatedSession>(fate_)};
};

TEST_F(CountedSessionTest, EndingItWithNoCallsCancelsNothing) {
  EXPECT_NE(counted_.BeginCall(), nullptr);
  counted_.EndCall();
  counted_.End();
  EXPECT_EQ(fate_.cancels, 0);
  EXPECT_EQ(fate_.destroyed, 1);
  EXPECT_EQ(counted_.BeginCall(), nullptr);
  EXPECT_EQ(counted_.Take(), nullptr);
  counted_.End();
  EXPECT_EQ(fate_.destroyed, 1);
}

TEST_F(CountedSessionTest, ACallThatEndingItCancelsHasTheSessionToItsEnd) {
  ASSERT_NE(counted_.BeginCall(), nullptr);
  std::thread ending([this] { counted_.End(); });
  while (fate_.cancels == 0) std::this_thread::yield();
  EXPECT_EQ(counted_.BeginCall(), nullptr);
  EXPECT_EQ(fate_.destroyed, 0);
  counted_.EndCall();
  ending.join();
  EXPECT_EQ(fate_.destroyed, 1);
}

// The second comes while the first cancels the call.
TEST_F(CountedSessionTest, ThreadsThatEndItTogetherCancelAndDestroyItOnce) {
  ASSERT_NE(counted_.BeginCall(), nullptr);
  fate_.may_cancel = false;
  std::thread first([this] { counted_.End(); });
  while (fate_.cancels == 0) std::this_thread::yield();
  std::atomic<bool> is_about_to = false;
  std::thread second([this, &is_about_to] {
    is_about_to = true;
    counted_.End();
    EXPECT_EQ(fate_.destroyed, 1);
  });
  Await(is_about_to);
  counted_.EndCall();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  fate_.may_cancel = true;
  first.join();
  second.join();
  EXPECT_EQ(fate_.cancels, 1);
  EXPECT_EQ(fate_.destroyed, 1);
  EXPECT_FALSE(fate_.was_destroyed_in_cancel);
}

TEST_F(CountedSessionTest, EachOfManyThreadsThatEndOneReturnsWhenItIsGone) {
  for (int round = 0; round < 200; ++round) {
    Fate fate;
    CountedSession<FatedSession> counted(std::make_unique<FatedSession>(fate));
    ASSERT_NE(counted.BeginCall(), nullptr);
    std::vector<std::jthread> ending;
    for (int i = 0; i < 3; ++i) {
      ending.emplace_back([&counted, &fate] {
        counted.End();
        EXPECT_EQ(fate.destroyed, 1);
      });
    }
    counted.EndCall();
    ending.clear();
    ASSERT_EQ(fate.destroyed, 1);
    ASSERT_LE(fate.cancels, 1);
  }
}

TEST_F(CountedSessionTest, WhatWasTakenIsNotEnded) {
  const std::unique_ptr<FatedSession> taken = counted_.Take();
  ASSERT_NE(taken, nullptr);
  counted_.End();
  EXPECT_EQ(counted_.BeginCall(), nullptr);
  EXPECT_EQ(fate_.destroyed, 0);
}

TEST_F(CountedSessionTest, WhatWasReleasedIsLeftAlone) {
  const std::unique_ptr<FatedSession> released(counted_.Release());
  ASSERT_NE(released, nullptr);
  counted_.End();
  EXPECT_EQ(fate_.destroyed, 0);
}

}  // namespace
}  // namespace evenpack::python
