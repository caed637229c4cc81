#include "server/service/live_calls.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

namespace evenpack {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

class CountingCall final : public DrainableCall {
 public:
  void Drain() override { ++drains_; }
  void RolesChanged() override { ++changes_; }
  int drains() const { return drains_; }
  int changes() const { return changes_; }

 private:
  int drains_ = 0;
  int changes_ = 0;
};

TEST(LiveCallsTest, HoldsAsManyAsItsLimitAndCountsThoseItTook) {
  LiveCalls calls(2);
  const auto a = std::make_shared<CountingCall>();
  const auto b = std::make_shared<CountingCall>();
  const auto c = std::make_shared<CountingCall>();
  EXPECT_TRUE(calls.Add(a));
  EXPECT_TRUE(calls.Add(b));
  EXPECT_FALSE(calls.Add(c));
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.opened(), 2U);
  calls.Remove(c);
  EXPECT_EQ(calls.size(), 2U) << "one that was not taken";
  calls.Remove(a);
  EXPECT_TRUE(calls.Add(c));
  EXPECT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls.opened(), 3U);
  EXPECT_EQ(calls.limit(), 2U);
}

TEST(LiveCallsTest, TellsThoseThatThereAreOfOtherRoles) {
  LiveCalls calls(2);
  const auto gone = std::make_shared<CountingCall>();
  const auto there = std::make_shared<CountingCall>();
  ASSERT_TRUE(calls.Add(gone));
  ASSERT_TRUE(calls.Add(there));
  calls.Remove(gone);
  calls.RolesChanged();
  EXPECT_EQ(gone->changes(), 0);
  EXPECT_EQ(there->changes(), 1);
  EXPECT_EQ(there->drains(), 0);
}

TEST(LiveCallsTest, KeepsACallUntilItIsRemoved) {
  LiveCalls calls(1);
  auto call = std::make_shared<CountingCall>();
  const std::weak_ptr<CountingCall> weak = call;
  ASSERT_TRUE(calls.Add(call));
  call.reset();
  EXPECT_FALSE(weak.expired());
  calls.Remove(weak.lock());
  EXPECT_TRUE(weak.expired());
}

TEST(LiveCallsTest, DrainsThoseThereAreAndThoseThatCome) {
  LiveCalls calls(3);
  const auto before = std::make_shared<CountingCall>();
  const auto gone = std::make_shared<CountingCall>();
  const auto after = std::make_shared<CountingCall>();
  ASSERT_TRUE(calls.Add(before));
  ASSERT_TRUE(calls.Add(gone));
  calls.Remove(gone);
  calls.Drain();
  EXPECT_EQ(before->drains(), 1);
  EXPECT_EQ(gone->drains(), 0);
  ASSERT_TRUE(calls.Add(after));
  EXPECT_EQ(after->drains(), 1);
}

// A drain may end the call and take it out at once.
class LeavingCall final : public DrainableCall,
                          public std::enable_shared_from_this<LeavingCall> {
 public:
  explicit LeavingCall(LiveCalls& calls) : calls_(calls) {}
  void Drain() override { calls_.Remove(shared_from_this()); }

 private:
  LiveCalls& calls_;
};

TEST(LiveCallsTest, ACallMayLeaveWhileItIsDrained) {
  LiveCalls calls(3);
  ASSERT_TRUE(calls.Add(std::make_shared<LeavingCall>(calls)));
  ASSERT_TRUE(calls.Add(std::make_shared<LeavingCall>(calls)));
  calls.Drain();
  EXPECT_EQ(calls.size(), 0U);
  ASSERT_TRUE(calls.Add(std::make_shared<LeavingCall>(calls)));
  EXPECT_EQ(calls.size(), 0U);
}

TEST(LiveCallsTest, WaitsForTheLastToLeaveButNoLongerThanTold) {
  LiveCalls calls(2);
  calls.WaitUntilNone(hours(1));
  const auto call = std::make_shared<CountingCall>();
  ASSERT_TRUE(calls.Add(call));
  calls.WaitUntilNone(nanoseconds(-1));
  calls.WaitUntilNone(nanoseconds(1));
  EXPECT_EQ(calls.size(), 1U);
  std::thread leaver([&] { calls.Remove(call); });
  calls.WaitUntilNone(hours(1));
  EXPECT_EQ(calls.size(), 0U);
  leaver.join();
}

}  // namespace
}  // namespace evenpack
