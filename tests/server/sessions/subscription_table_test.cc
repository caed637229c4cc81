#include "server/sessions/subscription_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "server/runtime/status_detail.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/server/sessions/subscription_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;
using testing::SubscriptionPointer;
using ::testing::UnorderedElementsAre;

class SubscriptionTableTest : public testing::SubscriptionFixture {
 protected:
  SubscriptionPointer AddWithCredits(uint32_t credits) {
    SubscribeRequest request;
    request.credits = credits;
    return Add(request);
  }

  // All that is to be done now, as text: "step 3", "marked 2", "drained 7", "ABORTED".
  std::vector<std::string> TakeAll(const SubscriptionPointer& subscription) {
    std::vector<std::string> taken;
    while (true) {
      const NextMessage next = Next(subscription);
      if (std::holds_alternative<NothingYet>(next)) return taken;
      taken.push_back(TextOf(next));
      if (std::holds_alternative<EndCall>(next)) return taken;
    }
  }
  static std::string TextOf(const NextMessage& next) {
    if (const auto* send = std::get_if<SendStep>(&next)) {
      return "step " + std::to_string(send->step->step.index);
    }
    if (const auto* marked = std::get_if<SendMarked>(&next)) {
      return "marked " + std::to_string(marked->durable_steps);
    }
    if (const auto* drained = std::get_if<SendDrained>(&next)) {
      return "drained " + std::to_string(drained->steps);
    }
    if (const auto* end = std::get_if<EndCall>(&next)) {
      return absl::StatusCodeToString(end->status.code());
    }
    return "nothing";
  }
  bool WaitsForSubscriber(const SubscriptionPointer& subscription) {
    return std::get<NothingYet>(Next(subscription)).waits_for_subscriber;
  }
  // Their subscribers, of which each has one.
  std::vector<Subscriber*> TakeWoken() {
    std::vector<Subscriber*> woken;
    for (const auto& subscriber : table_.TakeWoken(rig_.view())) {
      woken.push_back(subscriber.get());
    }
    return woken;
  }
};

TEST_F(SubscriptionTableTest, HandsOutStepsInOrderFromTheFirstAskedFor) {
  rig_.PublishSteps(4);
  SubscribeRequest request;
  request.from_step = 2;
  const auto subscription = Add(request);
  const auto first = std::get<SendStep>(Next(subscription));
  EXPECT_EQ(first.step, rig_.window.Get(2));
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 3"));
  rig_.PublishSteps(1);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 4"));
}

TEST_F(SubscriptionTableTest, TellsWhetherOthersHaveTheSameViewOfAStep) {
  rig_.PublishSteps(9);
  const auto is_shared = [this](const SubscriptionPointer& subscription) {
    return std::get<SendStep>(Next(subscription)).shared;
  };
  const auto first = Add(0, {}, "a", false);
  const auto of_cp_rank = Add(0, 1, "a", false);
  EXPECT_FALSE(is_shared(first));
  EXPECT_FALSE(is_shared(of_cp_rank));
  const auto second = Add(0, {}, "b", false);
  EXPECT_TRUE(is_shared(first));
  EXPECT_TRUE(is_shared(second));
  EXPECT_FALSE(is_shared(of_cp_rank));
  // The claim goes over, so that there is no third.
  const auto newer = Add(0, {}, "b", false);
  EXPECT_TRUE(is_shared(newer));
  table_.Remove(*second);
  EXPECT_TRUE(is_shared(first));
  table_.Remove(*newer);
  EXPECT_FALSE(is_shared(first));
}

TEST_F(SubscriptionTableTest, NoMoreStepsAreUnderWayThanThereAreCredits) {
  rig_.PublishSteps(9);
  const auto subscription = AddWithCredits(3);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0", "step 1", "step 2"));
  EXPECT_EQ(subscription->UnusedCredits(), 0U);
  // One mark gives back the credits of all steps up to it.
  ASSERT_THAT(table_.Received(*subscription, 1), IsOk());
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 3", "step 4"));
  // An older mark gives nothing.
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  EXPECT_THAT(TakeAll(subscription), IsEmpty());
  ASSERT_THAT(table_.Received(*subscription, 4), IsOk());
  EXPECT_EQ(subscription->UnusedCredits(), 3U);
}

TEST_F(SubscriptionTableTest, AMarkForAStepNotSentIsOutOfRange) {
  rig_.PublishSteps(3);
  const auto subscription = AddWithCredits(2);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0", "step 1"));
  EXPECT_THAT(
      table_.Received(*subscription, 2),
      StatusIs(absl::StatusCode::kOutOfRange,
               "received: step 2 was not sent on this call; accepted: below 2"));
  EXPECT_EQ(subscription->UnusedCredits(), 0U);
}

TEST_F(SubscriptionTableTest, CreditsHoldInAnyOrderOfStepsMarksAndReads) {
  std::mt19937_64 random(7);
  const auto subscription = AddWithCredits(5);
  uint64_t sent = 0;
  uint64_t received = 0;
  for (int i = 0; i < 2000; ++i) {
    switch (Draw(random, 0, 2)) {
      case 0:
        rig_.PublishSteps(Draw(random, 1, 3));
        break;
      case 1: {
        if (sent == received) break;
        received = received + Draw(random, 1, static_cast<uint32_t>(sent - received));
        ASSERT_THAT(table_.Received(*subscription, received - 1), IsOk());
        break;
      }
      default: {
        const NextMessage next = Next(subscription);
        const auto* send = std::get_if<SendStep>(&next);
        const bool expected = sent < rig_.window.end() && sent - received < 5;
        ASSERT_EQ(send != nullptr, expected);
        if (send != nullptr) {
          ASSERT_EQ(send->step->step.index, sent);
          ++sent;
        }
      }
    }
    ASSERT_LE(sent - received, 5U);
    ASSERT_EQ(subscription->UnusedCredits(), 5 - (sent - received));
  }
  EXPECT_GT(sent, 500U);
}

TEST_F(SubscriptionTableTest, TheLatestDurableMarkIsToldBeforeSteps) {
  rig_.PublishSteps(1);
  const auto subscription = AddWithCredits(1);
  subscription->marked = 1;
  subscription->marked = 4;
  EXPECT_THAT(TakeAll(subscription), ElementsAre("marked 4", "step 0"));
}

TEST_F(SubscriptionTableTest, SaysWhetherItWaitsForTheSubscriber) {
  const auto subscription = AddWithCredits(1);
  EXPECT_FALSE(WaitsForSubscriber(subscription)) << "a step may come";
  rig_.PublishSteps(2);
  EXPECT_EQ(TextOf(Next(subscription)), "step 0");
  EXPECT_TRUE(WaitsForSubscriber(subscription)) << "no credit";
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  EXPECT_EQ(TextOf(Next(subscription)), "step 1");
  ASSERT_THAT(table_.Received(*subscription, 1), IsOk());
  EXPECT_FALSE(WaitsForSubscriber(subscription)) << "all sent, the job goes on";
  rig_.drained = true;
  EXPECT_EQ(TextOf(Next(subscription)), "drained 2");
  EXPECT_TRUE(WaitsForSubscriber(subscription)) << "all told";
}

TEST_F(SubscriptionTableTest, DrainedIsToldOnceAfterTheLastStep) {
  rig_.PublishSteps(2);
  rig_.drained = true;
  const auto subscription = AddWithCredits(1);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0"));
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  EXPECT_EQ(TextOf(Next(subscription)), "step 1");
  // The last step need not be received.
  const auto drained = std::get<SendDrained>(Next(subscription));
  EXPECT_EQ(drained.steps, 2U);
  EXPECT_EQ(drained.digest, rig_.window.last_digest());
  EXPECT_THAT(TakeAll(subscription), IsEmpty());
  ASSERT_THAT(table_.Received(*subscription, 1), IsOk());
  EXPECT_THAT(TakeAll(subscription), IsEmpty());
}

TEST_F(SubscriptionTableTest, AJobDrainedWithoutStepsSaysSo) {
  rig_.drained = true;
  const auto subscription = AddWithCredits(1);
  const auto drained = std::get<SendDrained>(Next(subscription));
  EXPECT_EQ(drained.steps, 0U);
  EXPECT_EQ(drained.digest, GenesisDigest());
}

TEST_F(SubscriptionTableTest, WhoReadsTooSlowlyIsOutOfRangeOnceItsNextStepIsGone) {
  rig_.PublishSteps(5);
  const auto subscription = AddWithCredits(2);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0", "step 1"));
  rig_.LetGo(4);
  // Steps let go were sent before; that isn't an end while no credit is left.
  EXPECT_THAT(TakeAll(subscription), IsEmpty());
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  for (int i = 0; i < 2; ++i) {
    const auto end = std::get<EndCall>(Next(subscription));
    EXPECT_THAT(end.status, StatusIs(absl::StatusCode::kOutOfRange,
                                     HasSubstr("step: 2 was let go")));
    EXPECT_EQ(DetailOf(end.status),
              (StatusDetail{"STEP_LET_GO", {{"oldest_step", "4"}}}));
  }
}

TEST_F(SubscriptionTableTest, EndAllEndsEveryoneWithTheStatusButWhoEndedBefore) {
  rig_.PublishSteps(2);
  const auto older = Add(0, {}, "a", true);
  const auto newer = Add(0, {}, "a", true);
  const auto other = Add(1, 1, "b", false);
  table_.EndAll(absl::NotFoundError("gone"));
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_THAT(TakeAll(older), ElementsAre("ABORTED"));
  EXPECT_THAT(TakeAll(newer), ElementsAre("NOT_FOUND"));
  EXPECT_THAT(TakeAll(other), ElementsAre("NOT_FOUND"));
  // Claims are free: a newcomer ends nobody and is not ended.
  const auto next = Add(0, {}, "a", true);
  EXPECT_THAT(TakeAll(next), ElementsAre("step 0", "step 1"));
}

TEST_F(SubscriptionTableTest, WakesThoseWhoAreIdleAndHaveSomethingToDoOnce) {
  const auto idle = Add(0, {}, "idle", false);
  const auto busy = Add(0, {}, "busy", false);
  const auto spent = Add(0, {}, "spent", false);
  const auto marked = Add(1, {}, "marked", true);
  EXPECT_THAT(TakeWoken(), IsEmpty()) << "nobody was told that there is nothing";
  EXPECT_THAT(TakeAll(idle), IsEmpty());
  EXPECT_THAT(TakeAll(spent), IsEmpty());
  EXPECT_THAT(TakeAll(marked), IsEmpty());
  EXPECT_THAT(TakeWoken(), IsEmpty()) << "nothing came";

  rig_.PublishSteps(1);
  EXPECT_THAT(TakeWoken(),
              UnorderedElementsAre(idle->subscriber.get(), spent->subscriber.get(),
                                   marked->subscriber.get()));
  EXPECT_THAT(TakeWoken(), IsEmpty()) << "woken already";
  EXPECT_THAT(TakeAll(idle), ElementsAre("step 0"));
  EXPECT_THAT(TakeAll(spent), ElementsAre("step 0"));
  EXPECT_THAT(TakeAll(marked), ElementsAre("step 0"));
  EXPECT_THAT(TakeAll(busy), ElementsAre("step 0"));

  marked->marked = 1;
  EXPECT_THAT(TakeWoken(), ElementsAre(marked->subscriber.get()));
  rig_.drained = true;
  EXPECT_THAT(TakeWoken(),
              UnorderedElementsAre(idle->subscriber.get(), spent->subscriber.get(),
                                   busy->subscriber.get()));
}

TEST_F(SubscriptionTableTest, AStepWakesNobodyWithoutACreditAndTheCreditDoes) {
  rig_.PublishSteps(2);
  const auto subscription = AddWithCredits(1);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0"));
  EXPECT_THAT(TakeWoken(), IsEmpty());
  EXPECT_FALSE(table_.TakeIfWoken(*subscription, rig_.view()));
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  EXPECT_TRUE(table_.TakeIfWoken(*subscription, rig_.view()));
  EXPECT_FALSE(table_.TakeIfWoken(*subscription, rig_.view())) << "woken already";
}

TEST_F(SubscriptionTableTest, ACreditWakesNobodyWhereThereIsNoStep) {
  rig_.PublishSteps(1);
  const auto subscription = AddWithCredits(1);
  EXPECT_THAT(TakeAll(subscription), ElementsAre("step 0"));
  ASSERT_THAT(table_.Received(*subscription, 0), IsOk());
  EXPECT_FALSE(table_.TakeIfWoken(*subscription, rig_.view()));
}

TEST_F(SubscriptionTableTest, WhoLostAClaimIsWokenUntilItIsRemoved) {
  const auto older = Add(0, {}, "a", false);
  EXPECT_THAT(TakeAll(older), IsEmpty());
  const auto newer = Add(0, {}, "a", false);
  EXPECT_THAT(TakeWoken(), ElementsAre(older->subscriber.get()));
  EXPECT_THAT(TakeAll(older), ElementsAre("ABORTED"));
  table_.Remove(*older);
  EXPECT_THAT(TakeWoken(), IsEmpty());
}

TEST_F(SubscriptionTableTest, FiguresCountLagAndUnusedCredits) {
  rig_.PublishSteps(6);
  const auto ahead = AddWithCredits(8);
  EXPECT_EQ(TakeAll(ahead).size(), 6U);
  ASSERT_THAT(table_.Received(*ahead, 3), IsOk());
  const auto behind = Add(1, {}, "behind", false);
  const auto ended = Add(0, {}, "ended", false);
  Add(0, {}, "ended", false);
  const SubscriberFigures figures = table_.Figures(rig_.window);
  EXPECT_EQ(figures.subscribers, 3U);
  EXPECT_EQ(figures.max_lag_steps, 6U);
  EXPECT_EQ(figures.min_lag_steps, 2U);
  EXPECT_EQ(figures.total_lag_steps, 2U + 6U + 6U);
  EXPECT_EQ(figures.unused_credits, 6U + 16U + 16U);
  EXPECT_EQ(figures.ready_steps, 0U) << "one was sent all of them";
  EXPECT_TRUE(ended->end.has_value());
}

TEST_F(SubscriptionTableTest, TheSlowestAreListedFirstAndEqualOnesByRankAndName) {
  rig_.PublishSteps(6);
  const auto ahead = AddWithCredits(8);
  EXPECT_EQ(TakeAll(ahead).size(), 6U);
  ASSERT_THAT(table_.Received(*ahead, 3), IsOk());
  Add(1, {}, "behind", true);
  Add(0, 1, "y", false);
  Add(0, 1, "x", false);
  const auto slowest = table_.Slowest(rig_.window, 9);
  ASSERT_EQ(slowest.size(), 4U);
  EXPECT_EQ(slowest[0].subscriber, "x");
  EXPECT_EQ(slowest[0].cp_rank, 1U);
  EXPECT_EQ(slowest[0].lag_steps, 6U);
  EXPECT_EQ(slowest[1].subscriber, "y");
  EXPECT_EQ(slowest[2].subscriber, "behind");
  EXPECT_EQ(slowest[2].dp_rank, 1U);
  EXPECT_TRUE(slowest[2].sends_durable);
  EXPECT_EQ(slowest[3].next_step, 6U);
  EXPECT_EQ(slowest[3].received_steps, 4U);
  EXPECT_EQ(slowest[3].lag_steps, 2U);
  EXPECT_EQ(slowest[3].unused_credits, 6U);
  EXPECT_EQ(table_.Slowest(rig_.window, 3).back().subscriber, "behind");
}

TEST_F(SubscriptionTableTest, FiguresOfNobodyAreZero) {
  const SubscriberFigures figures = table_.Figures(rig_.window);
  EXPECT_EQ(figures.subscribers, 0U);
  EXPECT_EQ(figures.max_lag_steps + figures.min_lag_steps, 0U);
  EXPECT_EQ(figures.total_lag_steps, 0U);
  EXPECT_EQ(figures.unused_credits + figures.ready_steps, 0U);
}

TEST_F(SubscriptionTableTest, ReadyStepsAreThoseBeyondTheFastestSubscriber) {
  rig_.PublishSteps(6);
  EXPECT_EQ(table_.Figures(rig_.window).ready_steps, 6U) << "that are kept";
  const auto fast = AddWithCredits(4);
  EXPECT_EQ(TakeAll(fast).size(), 4U);
  const auto slow = Add(1, {}, "slow", false);
  EXPECT_EQ(table_.Figures(rig_.window).ready_steps, 2U);
}

}  // namespace
}  // namespace evenpack
