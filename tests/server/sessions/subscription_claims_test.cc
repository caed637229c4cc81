// Who a subscription ends, and by whom it is ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/runtime/status_detail.h"
#include "server/sessions/subscription_table.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/server/sessions/subscription_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::NullSubscriber;
using testing::StatusIs;
using testing::SubscriptionPointer;
using ::testing::UnorderedElementsAre;

class SubscriptionClaimsTest : public testing::SubscriptionFixture {
 protected:
  bool Ends(const SubscriptionPointer& subscription) {
    const NextMessage next = Next(subscription);
    const auto* end = std::get_if<EndCall>(&next);
    return end != nullptr && absl::IsAborted(end->status);
  }
};

TEST_F(SubscriptionClaimsTest, ARefusedRequestTakesNoClaim) {
  const auto older = Add(0, 1, "a", true);
  SubscribeRequest request = older->request;
  request.from_step = 5;
  EXPECT_THAT(
      table_.Add(request, std::make_shared<NullSubscriber>(), rig_.view()).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("from_step: 5")));
  EXPECT_FALSE(older->end.has_value());
  EXPECT_EQ(table_.size(), 1U);
}

TEST_F(SubscriptionClaimsTest, ANewerClaimOfTheSameRankAndSubscriberEndsTheOlder) {
  struct {
    uint32_t dp_rank;
    std::optional<uint32_t> cp_rank;
    std::string subscriber;
    bool takes;
  } const cases[] = {
      {1, 0, "a", true},   {0, 0, "a", false}, {1, 1, "a", false},
      {1, {}, "a", false}, {1, 0, "b", false}, {1, 0, "", false},
  };
  for (const auto& claim : cases) {
    table_ = SubscriptionTable();
    const auto older = Add(1, 0, "a", false);
    const auto newer = Add(claim.dp_rank, claim.cp_rank, claim.subscriber, false);
    EXPECT_EQ(older->end.has_value(), claim.takes);
    EXPECT_FALSE(newer->end.has_value());
    EXPECT_EQ(table_.size(), claim.takes ? 1U : 2U);
  }
}

// On a busy server what a lost call asks may be heard after all of its successor.
TEST_F(SubscriptionClaimsTest, AnOlderCallTakesNoClaimFromANewer) {
  const auto lost = std::make_shared<NullSubscriber>();
  const auto newer = Add(1, 0, "a", true);
  SubscribeRequest request;
  request.dp_rank = 1;
  for (const auto& [name, sends_durable] : {std::pair("a", false), {"b", true}}) {
    request.cp_rank = 0;
    request.subscriber = name;
    request.sends_durable = sends_durable;
    const absl::Status status = table_.Add(request, lost, rig_.view()).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted, HasSubstr("dp_rank")));
    EXPECT_EQ(DetailOf(status).reason, "CLAIM_TAKEN");
  }
  EXPECT_FALSE(newer->end.has_value());
  EXPECT_EQ(table_.size(), 1U);
}

TEST_F(SubscriptionClaimsTest, WhoLostItsClaimIsToldWhichOne) {
  rig_.PublishSteps(3);
  const auto older = Add(1, 0, "node-7", false);
  EXPECT_TRUE(std::holds_alternative<SendStep>(Next(older)));
  Add(1, 0, "node-7", false);
  const auto end = std::get<EndCall>(Next(older));
  EXPECT_THAT(end.status,
              StatusIs(absl::StatusCode::kAborted,
                       "dp_rank: a newer subscription took the claim of dp_rank 1, "
                       "cp_rank 0, 'node-7'"));
  EXPECT_EQ(DetailOf(end.status).reason, "CLAIM_TAKEN");
}

TEST_F(SubscriptionClaimsTest, OneSubscriptionOfADpRankSendsDurableMarks) {
  const auto other_rank = Add(1, {}, "", true);
  const auto follower = Add(0, {}, "follower", false);
  const auto older = Add(0, {}, "old trainer", true);
  const auto newer = Add(0, 1, "new trainer", true);
  EXPECT_THAT(*older->end,
              StatusIs(absl::StatusCode::kAborted,
                       "sends_durable: a newer subscription marks the steps "
                       "of dp_rank 0; accepted: one of each DP rank"));
  EXPECT_TRUE(Ends(older));
  EXPECT_FALSE(follower->end.has_value());
  EXPECT_FALSE(other_rank->end.has_value());
  EXPECT_FALSE(newer->end.has_value());
  EXPECT_EQ(table_.size(), 3U);
  // The claim of the one that ended is free again.
  const auto again = Add(0, {}, "old trainer", false);
  EXPECT_FALSE(newer->end.has_value());
  EXPECT_FALSE(again->end.has_value());
}

TEST_F(SubscriptionClaimsTest, OneRequestMayTakeTheClaimsOfTwo) {
  const auto sender = Add(0, {}, "sender", true);
  const auto follower = Add(0, {}, "follower", false);
  const auto newer = Add(0, {}, "follower", true);
  EXPECT_TRUE(Ends(sender));
  EXPECT_TRUE(Ends(follower));
  EXPECT_FALSE(newer->end.has_value());
  EXPECT_EQ(table_.size(), 1U);
}

// The first has lost its claim to the second, and has not been removed yet when a third
// takes what it had of the durable marks.
TEST_F(SubscriptionClaimsTest,
       TakingTheMarksOfOneThatLostItsClaimLeavesTheClaimsTaker) {
  const auto first = Add(0, {}, "x", true);
  const auto second = Add(0, {}, "x", false);
  const auto third = Add(0, {}, "y", true);
  EXPECT_FALSE(second->end.has_value());
  EXPECT_FALSE(third->end.has_value());
  EXPECT_EQ(table_.size(), 2U);
  EXPECT_TRUE(Ends(first));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(Next(second)));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(Next(third)));
  rig_.PublishSteps(1);
  EXPECT_THAT(table_.TakeWoken(rig_.view()),
              UnorderedElementsAre(second->subscriber, third->subscriber));
}

TEST_F(SubscriptionClaimsTest, ARemovedSubscriptionFreesItsClaimsAndItsSubscriber) {
  const auto subscription = Add(0, {}, "a", true);
  const std::weak_ptr<Subscriber> subscriber = subscription->subscriber;
  table_.Remove(*subscription);
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_TRUE(subscriber.expired());
  const auto next = Add(0, {}, "b", true);
  EXPECT_FALSE(subscription->end.has_value()) << "nobody took its claim";
  EXPECT_FALSE(next->end.has_value());
}

TEST_F(SubscriptionClaimsTest, RemovingOneThatEndedLeavesTheNewerItsClaims) {
  const auto older = Add(0, {}, "a", true);
  const auto newer = Add(0, {}, "a", true);
  table_.Remove(*older);
  EXPECT_EQ(table_.size(), 1U);
  const auto newest = Add(0, {}, "a", true);
  EXPECT_TRUE(newer->end.has_value());
  EXPECT_FALSE(newest->end.has_value());
}

}  // namespace
}  // namespace evenpack
