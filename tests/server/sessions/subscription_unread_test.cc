// Subscriptions to what may be behind the truth: they get it, and don't wait for more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <variant>

#include "server/sessions/subscription_table.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::NullSubscriber;
using testing::SessionRig;
using testing::StatusIs;

constexpr char kWhy[] = "the store is away";

class SubscriptionUnreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.PublishSteps(3);
    request_.from_step = 1;
    request_.last_digest = rig_.window.DigestBefore(1);
    request_.credits = 1;
  }
  absl::StatusOr<std::shared_ptr<Subscription>> Add() {
    return table_.Add(request_, std::make_shared<NullSubscriber>(), rig_.view(),
                      absl::UnavailableError(kWhy));
  }
  NextMessage Next(Subscription& subscription) {
    return table_.Next(subscription, rig_.view());
  }

  SessionRig rig_;
  SubscriptionTable table_;
  SubscribeRequest request_;
};

TEST_F(SubscriptionUnreadTest, ItEndsBehindTheLastStepHoweverFewCreditsThereAre) {
  const auto subscription = Add().value();
  EXPECT_TRUE(std::holds_alternative<SendStep>(Next(*subscription)));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(Next(*subscription)));
  ASSERT_TRUE(SubscriptionTable::Received(*subscription, 1).ok());
  EXPECT_EQ(table_.TakeWoken(rig_.view()).size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SendStep>(Next(*subscription)));
  for (int again = 0; again < 2; ++again) {
    const NextMessage next = Next(*subscription);
    ASSERT_TRUE(std::holds_alternative<EndCall>(next));
    EXPECT_THAT(std::get<EndCall>(next).status,
                StatusIs(absl::StatusCode::kUnavailable, kWhy));
  }
}

TEST_F(SubscriptionUnreadTest, StepsThatAreDecidedMeanwhileAreSent) {
  const auto subscription = Add().value();
  Next(*subscription);
  rig_.PublishSteps(1);
  for (uint64_t step = 1; step < 3; ++step) {
    ASSERT_TRUE(SubscriptionTable::Received(*subscription, step).ok());
    EXPECT_TRUE(std::holds_alternative<SendStep>(Next(*subscription)));
  }
  EXPECT_TRUE(std::holds_alternative<EndCall>(Next(*subscription)));
}

TEST_F(SubscriptionUnreadTest, OfADrainedJobItStaysBehindTheEnd) {
  rig_.drained = true;
  request_.from_step = 3;
  request_.last_digest = rig_.window.last_digest();
  const auto subscription = Add().value();
  EXPECT_TRUE(std::holds_alternative<SendDrained>(Next(*subscription)));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(Next(*subscription)));
}

TEST_F(SubscriptionUnreadTest, WhoIsSentNothingOrMayBeAheadTakesNoClaim) {
  const auto following =
      table_.Add(request_, std::make_shared<NullSubscriber>(), rig_.view()).value();
  const SubscribeRequest good = request_;
  request_.from_step = 3;
  request_.last_digest = rig_.window.last_digest();
  EXPECT_THAT(Add(), StatusIs(absl::StatusCode::kUnavailable, kWhy));
  request_ = good;
  request_.last_digest.reset();
  EXPECT_THAT(Add(), StatusIs(absl::StatusCode::kUnavailable, kWhy));
  request_.last_digest = Digest128();
  EXPECT_THAT(Add(), StatusIs(absl::StatusCode::kUnavailable, kWhy));
  EXPECT_TRUE(std::holds_alternative<SendStep>(Next(*following)));
}

}  // namespace
}  // namespace evenpack
