#include "client/agent/step_fan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/runtime/status_detail.h"
#include "tests/client/agent/made_steps.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::Asks;
using evenpack::testing::DigestOf;
using evenpack::testing::IsOk;
using evenpack::testing::kEpoch;
using evenpack::testing::MadeStep;
using evenpack::testing::NeverWoken;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class StepFanTest : public ::testing::Test {
 protected:
  StepFan::Local Add(const SubscribeRequest& request, uint64_t from = 0) {
    return fan_->Add(request, from, DigestOf(from), std::make_shared<NeverWoken>());
  }
  // Opens a call; how many credits it has.
  uint32_t Connect(uint64_t durable_steps = 0) {
    const StepFan::Request request = fan_->BeginCall();
    EXPECT_THAT(
        fan_->Subscribed(*request.from.next, *request.from.digest, durable_steps),
        IsOk());
    sendable_ = *request.from.next + request.credits;
    first_ = *request.from.next;
    return request.credits;
  }
  // What the server would send now, up to `end`; how many steps there were.
  uint64_t Send(uint64_t end = UINT64_MAX) {
    uint64_t sent = 0;
    for (;;) {
      if (const auto received = fan_->TakeReceived(); received.has_value()) {
        sendable_ += *received + 1 - first_;
        first_ = *received + 1;
      }
      if (fan_->end() >= std::min(sendable_, end)) return sent;
      EXPECT_THAT(fan_->Push(MadeStep(fan_->end())), IsOk());
      ++sent;
    }
  }
  std::optional<uint64_t> Take(const StepFan::Local& local) {
    return evenpack::testing::TakeStep(*fan_, local);
  }

  std::optional<StepFan> fan_{std::in_place, kEpoch,
                              client::StepPosition{0, DigestOf(0)},
                              StepFan::Bounds{8, 1 << 20}};
  uint64_t sendable_ = 0;
  uint64_t first_ = 0;
};

TEST_F(StepFanTest, AllGetEachStepAndItGoesOnceTheyHaveReceivedIt) {
  const auto a = Add(Asks("a"));
  const auto b = Add(Asks("b"));
  EXPECT_EQ(Connect(), 8U);
  EXPECT_EQ(Send(4), 4U);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Take(a), i);
  EXPECT_EQ(fan_->begin(), 0U);
  EXPECT_EQ(Take(b), 0U);
  EXPECT_EQ(fan_->begin(), 1U);
  EXPECT_EQ(fan_->held_steps(), 3U);
  fan_->Remove(*b);
  EXPECT_EQ(fan_->held_steps(), 0U);
  EXPECT_EQ(fan_->held_bytes(), 0U);
}

TEST_F(StepFanTest, NoMoreIsFetchedAheadThanTheBound) {
  const auto a = Add(Asks("a"));
  Connect();
  EXPECT_EQ(Send(), 8U);
  EXPECT_EQ(Take(a), 0U);
  EXPECT_EQ(Send(), 1U);
  EXPECT_EQ(fan_->held_steps(), 8U);
}

TEST_F(StepFanTest, BytesBoundItTooWithTheViewsThatAreAskedFor) {
  Add(Asks("a", false, 0));
  Add(Asks("b", false, 1));
  // Of room for three steps, each with two views.
  const uint64_t bytes = MadeStep(200)->bytes() * 3 * 3;
  fan_->SetBytes(bytes);
  Connect();
  // No size was known, so that more was asked for than there is room.
  Send();
  EXPECT_EQ(fan_->held_steps(), 3U);
  EXPECT_LE(fan_->held_bytes(), bytes);
  // One step may always be there.
  fan_->SetBytes(1);
  fan_->Lost();
  EXPECT_EQ(Connect(), 1U);
  EXPECT_THAT(fan_->Push(MadeStep(fan_->end())), IsOk());
  EXPECT_EQ(fan_->held_steps(), 1U);
}

TEST_F(StepFanTest, CallsThatAreLostAgainAndAgainFillNoMoreThanTheBound) {
  Add(Asks("a"));
  for (int i = 0; i < 20; ++i) {
    Connect();
    Send();
    fan_->Lost();
  }
  EXPECT_EQ(fan_->held_steps(), 8U);
}

TEST_F(StepFanTest, TheForemostDoesNotWaitForOneThatLags) {
  const auto quick = Add(Asks("quick"));
  const auto slow = Add(Asks("slow"));
  Connect();
  for (uint64_t i = 0; i < 50; ++i) {
    Send();
    EXPECT_EQ(Take(quick), i);
    EXPECT_LE(fan_->held_steps(), 8U);
  }
  // The slow one is behind what is kept, and asks for the step alone.
  ASSERT_GT(fan_->begin(), 0U);
  const LocalMessage next = fan_->Next(*slow);
  ASSERT_TRUE(std::holds_alternative<FetchStep>(next));
  EXPECT_EQ(std::get<FetchStep>(next).step, 0U);
  EXPECT_EQ(std::get<FetchStep>(next).previous, DigestOf(0));
  // Once.
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*slow)));
  fan_->Fetched(*slow, MadeStep(0));
  EXPECT_EQ(fan_->TakeWoken().size(), 1U);
  EXPECT_EQ(Take(slow), 0U);
  for (uint64_t i = 1; i < fan_->begin(); ++i) {
    ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_->Next(*slow)));
    fan_->Fetched(*slow, MadeStep(i));
    EXPECT_EQ(Take(slow), i);
  }
  // From here on it shares again.
  const uint64_t begin = fan_->begin();
  EXPECT_EQ(Take(slow), begin);
}

TEST_F(StepFanTest, AStepThatTheServerNoLongerHasEndsWhoWantsIt) {
  const auto quick = Add(Asks("quick"), 0);
  Connect();
  Send();
  for (uint64_t i = 0; i < 8; ++i) Take(quick);
  const auto late = Add(Asks("late"), 2);
  ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_->Next(*late)));
  fan_->Fetched(*late, absl::OutOfRangeError("let go"));
  const LocalMessage next = fan_->Next(*late);
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  EXPECT_THAT(std::get<EndCall>(next).status,
              StatusIs(absl::StatusCode::kOutOfRange, _));
}

TEST_F(StepFanTest, AStepThatDoesNotFollowIsNotSent) {
  const auto a = Add(Asks("a"), 0);
  Connect();
  Send();
  for (uint64_t i = 0; i < 8; ++i) Take(a);
  for (const auto& wrong : {MadeStep(2, 7), MadeStep(2, 0, kEpoch + 1), MadeStep(3)}) {
    const auto late = Add(Asks("late"), 2);
    ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_->Next(*late)));
    fan_->Fetched(*late, wrong);
    const LocalMessage next = fan_->Next(*late);
    ASSERT_TRUE(std::holds_alternative<EndCall>(next));
    EXPECT_THAT(std::get<EndCall>(next).status,
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("step 2")));
    fan_->Remove(*late);
  }
  EXPECT_THAT(fan_->Push(MadeStep(fan_->end(), 9)),
              StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(fan_->Push(MadeStep(1)), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST_F(StepFanTest, CreditsAreEachOnesOwn) {
  SubscribeRequest one = Asks("one");
  one.credits = 1;
  const auto a = Add(one);
  const auto b = Add(Asks("b"));
  Connect();
  Send(3);
  EXPECT_TRUE(std::holds_alternative<SendHeld>(fan_->Next(*a)));
  const LocalMessage next = fan_->Next(*a);
  ASSERT_TRUE(std::holds_alternative<NothingYet>(next));
  EXPECT_TRUE(std::get<NothingYet>(next).waits_for_subscriber);
  EXPECT_EQ(Take(b), 0U);
  EXPECT_EQ(Take(b), 1U);
  EXPECT_THAT(fan_->Received(*a, 1), StatusIs(absl::StatusCode::kOutOfRange, _));
  EXPECT_THAT(fan_->Received(*a, 0), IsOk());
  EXPECT_EQ(fan_->TakeWoken().size(), 1U);
  EXPECT_EQ(Take(a), 1U);
}

TEST_F(StepFanTest, ANewerSubscriptionTakesTheClaimOfItsName) {
  const auto older = Add(Asks("a", false, 1));
  const auto other = Add(Asks("a", false, 0));
  const auto newer = Add(Asks("a", false, 1));
  const LocalMessage next = fan_->Next(*older);
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  EXPECT_THAT(std::get<EndCall>(next).status,
              StatusIs(absl::StatusCode::kAborted, HasSubstr("cp_rank 1")));
  EXPECT_EQ(DetailOf(std::get<EndCall>(next).status).reason, "CLAIM_TAKEN");
  fan_->Remove(*older);
  for (const auto& local : {other, newer}) {
    EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*local)));
  }
}

// The server answers each of them, and may answer the older later.
TEST_F(StepFanTest, AnOlderCallTakesNoClaimFromANewer) {
  for (const SubscribeRequest& request : {Asks("a", false, 1), Asks("b", true, 0)}) {
    const auto came_first = std::make_shared<NeverWoken>();
    const auto newer = Add(Asks("a", true, 1));
    const auto older = fan_->Add(request, 0, DigestOf(0), came_first);
    const LocalMessage next = fan_->Next(*older);
    ASSERT_TRUE(std::holds_alternative<EndCall>(next));
    EXPECT_EQ(DetailOf(std::get<EndCall>(next).status).reason, "CLAIM_TAKEN");
    fan_->Remove(*older);
    EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*newer)));
    EXPECT_THAT(fan_->MarkDurable(*newer, {0, kEpoch}), IsOk());
    fan_->Remove(*newer);
  }
}

TEST_F(StepFanTest, OneSendsDurableMarksAndTheyAreSaidUntilConfirmed) {
  const auto reader = Add(Asks("reader"));
  Connect();
  EXPECT_THAT(fan_->MarkDurable(*reader, {0, kEpoch}),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
  const auto saver = Add(Asks("saver", true));
  // The call that stands has no claim to marks.
  EXPECT_TRUE(fan_->NeedsClaim());
  EXPECT_THAT(fan_->MarkDurable(*saver, {1, kEpoch}), IsOk());
  EXPECT_EQ(fan_->TakeMark(), std::nullopt);
  fan_->Lost();
  Connect();
  EXPECT_FALSE(fan_->NeedsClaim());
  EXPECT_EQ(fan_->TakeMark(), (StepFan::Mark{1, kEpoch}));
  EXPECT_EQ(fan_->TakeMark(), std::nullopt);
  // The call is lost before the answer comes: said again.
  fan_->Lost();
  Connect();
  EXPECT_EQ(fan_->TakeMark(), (StepFan::Mark{1, kEpoch}));
  fan_->Marked(2);
  const LocalMessage next = fan_->Next(*saver);
  ASSERT_TRUE(std::holds_alternative<SendMarked>(next));
  EXPECT_EQ(std::get<SendMarked>(next).durable_steps, 2U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*reader)));
  // Or it had come: then the sender is told.
  EXPECT_THAT(fan_->MarkDurable(*saver, {4, kEpoch}), IsOk());
  EXPECT_TRUE(fan_->TakeMark().has_value());
  fan_->Lost();
  Connect(5);
  EXPECT_EQ(fan_->TakeMark(), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<SendMarked>(fan_->Next(*saver)));
}

// An answer to the call before, of the same rank, comes after the server's to this one.
TEST_F(StepFanTest, ThatStepsAreDurableIsNotTakenBack) {
  const auto saver = fan_->Add(Asks("saver", true), 0, DigestOf(0),
                               std::make_shared<NeverWoken>(), /*durable_steps=*/2);
  Connect();
  fan_->Marked(1);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*saver)));
  fan_->Marked(3);
  const LocalMessage next = fan_->Next(*saver);
  ASSERT_TRUE(std::holds_alternative<SendMarked>(next));
  EXPECT_EQ(std::get<SendMarked>(next).durable_steps, 3U);
}

TEST_F(StepFanTest, AnErrorIsFirstThatOfWhoSendsMarks) {
  const auto reader = Add(Asks("reader"));
  const auto saver = Add(Asks("saver", true));
  Connect();
  EXPECT_TRUE(fan_->Ended(absl::OutOfRangeError("durable: step 9")));
  EXPECT_TRUE(std::holds_alternative<EndCall>(fan_->Next(*saver)));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_->Next(*reader)));
  EXPECT_FALSE(fan_->BeginCall().sends_durable);
  EXPECT_FALSE(fan_->over());
  EXPECT_FALSE(fan_->Ended(absl::NotFoundError("no job")));
  EXPECT_TRUE(fan_->over());
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*reader)).status,
              StatusIs(absl::StatusCode::kNotFound, _));
  // The server has said since that this one can be had.
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*Add(Asks("late")))).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ended")));
}

TEST_F(StepFanTest, AJobThatWasMadeAnewHasAllAskAgain) {
  const auto a = Add(Asks("a"));
  Connect();
  Send(2);
  fan_->MadeAnew();
  EXPECT_TRUE(fan_->over());
  EXPECT_FALSE(fan_->connected());
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*a)).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("made anew")));
}

TEST_F(StepFanTest, TheEndIsToldOnceAllStepsWereSent) {
  const auto a = Add(Asks("a"));
  Connect();
  Send(2);
  EXPECT_THAT(fan_->Drained(3, DigestOf(3)), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(fan_->Drained(2, DigestOf(2)), IsOk());
  EXPECT_EQ(Take(a), 0U);
  EXPECT_EQ(Take(a), 1U);
  const LocalMessage next = fan_->Next(*a);
  ASSERT_TRUE(std::holds_alternative<SendDrained>(next));
  EXPECT_EQ(std::get<SendDrained>(next).digest, DigestOf(2));
  EXPECT_TRUE(std::get<NothingYet>(fan_->Next(*a)).waits_for_subscriber);
  // Also to one that comes later.
  const auto late = Add(Asks("late"), 2);
  EXPECT_TRUE(std::holds_alternative<SendDrained>(fan_->Next(*late)));
}

// The job may have been deleted and made anew meanwhile, with steps of its own.
TEST_F(StepFanTest, WhoComesWhileNoCallStandsGetsNothingThatIsHeldBeforeOneDoes) {
  const auto before = Add(Asks("before"));
  Connect();
  EXPECT_EQ(Send(3), 3U);
  EXPECT_EQ(Take(before), 0U);
  fan_->Lost();
  const auto since = Add(Asks("since"), 1);
  EXPECT_EQ(Take(since), std::nullopt);
  EXPECT_TRUE(fan_->TakeWoken().empty());
  EXPECT_EQ(Take(before), 1U);
  Connect();
  EXPECT_EQ(fan_->TakeWoken().size(), 1U);
  EXPECT_EQ(Take(since), 1U);
}

TEST_F(StepFanTest, WhoComesWhileNoCallStandsAsksAgainWhereTheHistoryIsAnother) {
  const auto before = Add(Asks("before"));
  Connect();
  EXPECT_EQ(Send(3), 3U);
  fan_->Lost();
  const auto since = Add(Asks("since"));
  EXPECT_FALSE(fan_->Ended(absl::DataLossError("another history")));
  const auto ends_with = [this](const StepFan::Local& local) {
    const LocalMessage next = fan_->Next(*local);
    return std::get<EndCall>(next).status;
  };
  EXPECT_THAT(ends_with(before), StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(ends_with(since),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("history")));
}

// As where a database went back: the feed is ahead of it, and not all who share it are.
TEST_F(StepFanTest, WhoIsBehindAnotherHistorysBeginAsksAgain) {
  const auto behind = Add(Asks("behind"));
  const auto ahead = Add(Asks("ahead"));
  Connect();
  EXPECT_EQ(Send(3), 3U);
  EXPECT_EQ(Take(behind), 0U);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(ahead), i);
  fan_->Lost();
  const absl::Status differs = evenpack::testing::ServerError(
      absl::StatusCode::kDataLoss, "last_digest: no", "HISTORY_DIFFERS");
  EXPECT_FALSE(fan_->Ended(differs));
  EXPECT_EQ(std::get<EndCall>(fan_->Next(*ahead)).status, differs);
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*behind)).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("history")));
}

// A rank that goes on from a checkpoint joins one that follows from the oldest step on.
TEST_F(StepFanTest, WhoIsAheadOfStepsThatWereLetGoAsksAgain) {
  const auto behind = Add(Asks("behind"));
  const auto ahead = Add(Asks("ahead", true), 100);
  Connect();
  EXPECT_EQ(Send(3), 3U);
  const absl::Status let_go = evenpack::testing::ServerError(
      absl::StatusCode::kOutOfRange, "step: 3 was let go", "STEP_LET_GO");
  EXPECT_TRUE(fan_->Ended(let_go));
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*ahead)).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("step 100")));
  const auto again = Add(Asks("again"), 101);
  fan_->BeginCall();
  EXPECT_FALSE(fan_->Ended(let_go));
  EXPECT_EQ(std::get<EndCall>(fan_->Next(*behind)).status, let_go);
  EXPECT_THAT(std::get<EndCall>(fan_->Next(*again)).status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("step 101")));
}

TEST_F(StepFanTest, ACallGoesOnBehindTheLastStep) {
  const auto a = Add(Asks("a"));
  Connect();
  Send(5);
  fan_->Lost();
  EXPECT_FALSE(fan_->connected());
  // What is held is handed out meanwhile.
  EXPECT_EQ(Take(a), 0U);
  const StepFan::Request again = fan_->BeginCall();
  EXPECT_EQ(again.from.next, 5U);
  EXPECT_EQ(again.from.digest, DigestOf(5));
  EXPECT_EQ(again.credits, 4U);
  EXPECT_THAT(fan_->Subscribed(4, DigestOf(4), 0),
              StatusIs(absl::StatusCode::kDataLoss, _));
  EXPECT_THAT(fan_->Subscribed(5, DigestOf(9), 0),
              StatusIs(absl::StatusCode::kDataLoss, _));
}

// Whoever comes and goes, and however calls are lost: each gets each step from its
// first on once and in order, what is held stays within the bound, and who has a credit
// is never left waiting for a step that the server has decided.
TEST_F(StepFanTest, RandomCoursesLoseNothingAndHoldNobodyUp) {
  constexpr uint64_t kSteps = 300;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](uint32_t below) {
      return static_cast<uint32_t>(random() % below);
    };
    fan_.emplace(kEpoch, client::StepPosition{0, DigestOf(0)},
                 StepFan::Bounds{1 + draw(12), 1 << 20});
    struct Follower {
      StepFan::Local local;
      uint64_t next = 0;
    };
    std::vector<Follower> followers;
    Connect();
    const auto add = [&](uint64_t from) {
      SubscribeRequest request = Asks("r" + std::to_string(random()));
      request.credits = 1 + draw(5);
      followers.push_back({Add(request, from), from});
    };
    add(0);
    const auto take = [&](Follower& follower) {
      LocalMessage next = fan_->Next(*follower.local);
      if (const auto* fetch = std::get_if<FetchStep>(&next)) {
        fan_->Fetched(*follower.local, MadeStep(fetch->step));
        next = fan_->Next(*follower.local);
      }
      const auto* held = std::get_if<SendHeld>(&next);
      if (held == nullptr) return false;
      EXPECT_EQ(held->step->index(), follower.next);
      ++follower.next;
      return true;
    };
    for (int turn = 0; turn < 1500; ++turn) {
      const uint32_t what = draw(100);
      if (what < 2 && followers.size() < 6)
        add(draw(static_cast<uint32_t>(fan_->end()) + 1));
      if (what == 2 && followers.size() > 1) {
        fan_->Remove(*followers.back().local);
        followers.pop_back();
      }
      if (what == 3) {
        fan_->Lost();
        Connect();
      }
      Follower& one = followers[draw(static_cast<uint32_t>(followers.size()))];
      take(one);
      if (one.next > one.local->at.received) {
        EXPECT_THAT(fan_->Received(*one.local, one.next - 1), IsOk());
      }
      Send(kSteps);
      EXPECT_LE(fan_->held_steps(), 12U);
    }
    // All come to the end, however far behind they are.
    for (Follower& follower : followers) {
      while (follower.next < kSteps) {
        const bool took = take(follower);
        if (took) {
          EXPECT_THAT(fan_->Received(*follower.local, follower.next - 1), IsOk());
        }
        Send(kSteps);
        ASSERT_TRUE(took || fan_->end() > follower.next) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace evenpack::agent
