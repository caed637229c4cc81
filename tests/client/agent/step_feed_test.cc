#include "client/agent/step_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::FakeStepCall;
using evenpack::testing::IsOk;
using evenpack::testing::kGone;
using evenpack::testing::ServerError;
using evenpack::testing::SessionFixture;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::_;
using ::testing::MatchesRegex;

// Counts its wakings, which tests await.
class Awaiting final : public Subscriber {
 public:
  void Wake() override {
    MutexLock lock(mutex_);
    ++woken_;
    changed_.SignalAll();
  }
  // Blocks until it was woken again.
  void Await() {
    MutexLock lock(mutex_);
    while (woken_ == seen_) changed_.Wait(mutex_);
    ++seen_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int woken_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int seen_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

struct Follower {
  std::shared_ptr<Awaiting> subscriber = std::make_shared<Awaiting>();
  StepFan::Local local;
};

class StepFeedTest : public SessionFixture {
 protected:
  ~StepFeedTest() override {
    if (feed_ != nullptr) feed_->Stop();
  }
  void Begin(uint64_t epoch = 0) {
    feed_ = std::make_shared<StepFeed>(
        FeedUpstream{stub_, client_options_, "agent-n1", &pool_},
        FeedKey{"run-7", 0, epoch}, ShapeOf(history_.spec()),
        client::StepPosition{0, history_.DigestBefore(0)}, StepFan::Bounds{8, 1 << 20});
  }
  Follower Add(const SubscribeRequest& request) {
    Follower follower;
    follower.local =
        feed_->Add(request, 0, history_.DigestBefore(0), follower.subscriber);
    return follower;
  }
  Follower Add(const std::string& name, bool durable = false) {
    SubscribeRequest request;
    request.subscriber = name;
    request.sends_durable = durable;
    return Add(request);
  }
  Follower AddPart() {
    SubscribeRequest request;
    request.subscriber = "part";
    request.cp_rank = 1;
    return Add(request);
  }
  // One that needs step 0, which is kept no longer and is being asked for alone.
  Follower AddLate(const SubscribeRequest& request = {}) {
    Begin();
    const Follower first = Add("first");
    call_ = stub_->AwaitStepCall();
    call_->Send(history_.Subscribed(0));
    call_->Send(history_.Step(0));
    EXPECT_EQ(AwaitStep(first), 0U);
    EXPECT_THAT(feed_->Received(*first.local, 0), IsOk());
    Follower late = Add(request);
    EXPECT_TRUE(std::holds_alternative<NothingYet>(feed_->Next(late.local)));
    return late;
  }
  // What it is told next that is not nothing.
  LocalMessage AwaitNext(const Follower& follower) {
    for (;;) {
      LocalMessage next = feed_->Next(follower.local);
      if (!std::holds_alternative<NothingYet>(next)) return next;
      follower.subscriber->Await();
    }
  }
  uint64_t AwaitStep(const Follower& follower) {
    const LocalMessage next = AwaitNext(follower);
    return std::get<SendHeld>(next).step->index();
  }
  absl::Status AwaitEnd(const Follower& follower) {
    return std::get<EndCall>(AwaitNext(follower)).status;
  }

  const absl::Status too_large_ =
      ServerError(absl::StatusCode::kResourceExhausted, "answer", "ANSWER_TOO_LARGE");
  const TestHistory history_{6};
  WorkerPool pool_{1};
  std::shared_ptr<StepFeed> feed_;
  // Of the feed of AddLate.
  std::shared_ptr<FakeStepCall> call_;
};

TEST_F(StepFeedTest, OneCallUpstreamServesAll) {
  Begin();
  const Follower a = Add("a");
  const Follower b = Add("b");
  const auto call = stub_->AwaitStepCall();
  const v1::Subscribe asked = call->AwaitMessage().subscribe();
  EXPECT_EQ(asked.job(), "run-7");
  EXPECT_EQ(asked.subscriber(), "agent-n1");
  EXPECT_FALSE(asked.has_cp_rank());
  EXPECT_FALSE(asked.sends_durable());
  EXPECT_EQ(asked.credits(), 8U);
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(0));
  call->Send(history_.Step(1));
  for (const Follower& each : {a, b}) {
    EXPECT_EQ(AwaitStep(each), 0U);
    EXPECT_EQ(AwaitStep(each), 1U);
  }
  EXPECT_THAT(feed_->Received(*a.local, 1), IsOk());
  EXPECT_THAT(feed_->Received(*b.local, 0), IsOk());
  // Room for one step more.
  EXPECT_EQ(call->AwaitMessage().received().step(), 0U);
  EXPECT_EQ(feed_->figures().held_steps, 1U);
  EXPECT_EQ(feed_->figures().steps_received, 2U);
}

TEST_F(StepFeedTest, ALostCallIsOpenedAgainAndNobodyNotices) {
  Begin();
  const Follower a = Add("a");
  auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(0));
  call->AwaitAllRead();
  call->End(kGone);
  call = stub_->AwaitStepCall();
  const v1::Subscribe asked = call->AwaitMessage().subscribe();
  EXPECT_EQ(asked.from_step(), 1U);
  EXPECT_EQ(asked.last_digest(), DigestBytes(history_.DigestBefore(1)));
  EXPECT_EQ(AwaitStep(a), 0U);
  call->Send(history_.Subscribed(1));
  call->Send(history_.Step(1));
  EXPECT_EQ(AwaitStep(a), 1U);
  EXPECT_EQ(feed_->figures().reconnects, 1U);
}

TEST_F(StepFeedTest, AServersErrorEndsAllWithWhatItSaid) {
  Begin();
  const Follower a = Add("a");
  const auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  const absl::Status ended =
      ServerError(absl::StatusCode::kAborted, "epoch: 2", "EPOCH_ENDED");
  call->End(ended);
  EXPECT_EQ(AwaitEnd(a), ended);
  feed_->Stop();
  EXPECT_TRUE(feed_->over());
  EXPECT_EQ(stub_->step_calls(), 0U);
  // Who found the feed before its end, and comes after it.
  const Follower late = Add("late");
  const LocalMessage next = feed_->Next(late.local);
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  EXPECT_THAT(std::get<EndCall>(next).status,
              StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST_F(StepFeedTest, MarksTravelOnACallThatHasTheClaim) {
  Begin();
  const Follower reader = Add("reader");
  auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(0));
  EXPECT_EQ(AwaitStep(reader), 0U);
  const Follower saver = Add("saver", true);
  call->AwaitGone();
  call = stub_->AwaitStepCall();
  EXPECT_TRUE(call->AwaitMessage().subscribe().sends_durable());
  call->Send(history_.Subscribed(1));
  EXPECT_EQ(AwaitStep(saver), 0U);
  EXPECT_THAT(feed_->MarkDurable(*saver.local, {0, 0}), IsOk());
  EXPECT_EQ(call->AwaitMessage().durable().step(), 0U);
  call->Send(TestHistory::DurableMarked(1));
  EXPECT_EQ(std::get<SendMarked>(AwaitNext(saver)).durable_steps, 1U);
  // Another took the claim: its sender is told, the others go on.
  const absl::Status taken =
      ServerError(absl::StatusCode::kAborted, "dp_rank: taken", "CLAIM_TAKEN");
  call->End(taken);
  EXPECT_EQ(AwaitEnd(saver), taken);
  call = stub_->AwaitStepCall();
  EXPECT_FALSE(call->AwaitMessage().subscribe().sends_durable());
  call->Send(history_.Subscribed(1));
  call->Send(history_.Step(1));
  EXPECT_EQ(AwaitStep(reader), 1U);
}

TEST_F(StepFeedTest, AStepThatIsNotKeptIsFetchedAlone) {
  SubscribeRequest request;
  request.subscriber = "late";
  request.cp_rank = 1;
  request.layout = Layout::kNative;
  const Follower late = AddLate(request);
  const auto alone = stub_->AwaitStepCall();
  // As it would ask the server itself.
  const v1::Subscribe asked = alone->AwaitMessage().subscribe();
  EXPECT_EQ(asked.job(), "run-7");
  EXPECT_EQ(asked.dp_rank(), 0U);
  EXPECT_EQ(asked.cp_rank(), 1U);
  // But for a name that nobody has, at this node or another.
  EXPECT_THAT(asked.subscriber(), MatchesRegex("agent-n1-[0-9]+"));
  EXPECT_EQ(asked.layout(), v1::LAYOUT_NATIVE);
  EXPECT_TRUE(asked.has_epoch());
  EXPECT_TRUE(asked.has_from_step());
  EXPECT_EQ(asked.last_digest(), DigestBytes(history_.DigestBefore(0)));
  EXPECT_EQ(asked.credits(), 1U);
  alone->Send(history_.Subscribed(0));
  alone->Send(history_.Step(0, 0, 1));
  EXPECT_EQ(AwaitStep(late), 0U);
  alone->AwaitGone();
  EXPECT_EQ(feed_->figures().steps_fetched, 1U);
  call_->Send(history_.Step(1));
  EXPECT_EQ(AwaitStep(late), 1U);
  const Follower again = Add(request);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(feed_->Next(again.local)));
  EXPECT_EQ(stub_->AwaitStepCall()->AwaitMessage().subscribe().subscriber(),
            "agent-n1-2");
  feed_->Remove(*again.local);
}

TEST_F(StepFeedTest, AFetchedStepIsWaitedForWhileTheServerIsAway) {
  const Follower late = AddLate();
  for (const absl::Status& lost :
       {kGone, absl::Status(), absl::DeadlineExceededError("no answer"),
        ServerError(absl::StatusCode::kUnavailable, "store: no", "STORE_FAILED")}) {
    stub_->AwaitStepCall()->End(lost);
  }
  const auto call = stub_->AwaitStepCall();
  EXPECT_EQ(sleeper_->slept().size(), 4U);
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(0));
  EXPECT_EQ(AwaitStep(late), 0U);
}

TEST_F(StepFeedTest, WhatTheServerSaysOfAFetchedStepIsToldAsItIs) {
  const Follower late = AddLate();
  const absl::Status said = ServerError(absl::StatusCode::kFailedPrecondition,
                                        "layout: step 0's", "LAYOUT_DIFFERS");
  const auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->End(said);
  EXPECT_EQ(AwaitEnd(late), said);
}

TEST_F(StepFeedTest, AStepThatIsTooLargeWholeComesInParts) {
  Begin();
  const Follower part = AddPart();
  auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(0));
  EXPECT_EQ(AwaitStep(part), 0U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(feed_->Next(part.local)));
  call->End(too_large_);
  // What comes next is learned from any part.
  call = stub_->AwaitStepCall();
  v1::Subscribe asked = call->AwaitMessage().subscribe();
  EXPECT_EQ(asked.from_step(), 1U);
  EXPECT_EQ(asked.cp_rank(), 1U);
  EXPECT_THAT(asked.subscriber(), MatchesRegex("agent-n1-[0-9]+"));
  call->Send(history_.Subscribed(1));
  call->Send(history_.Step(1, 0, 1));
  call = stub_->AwaitStepCall();
  asked = call->AwaitMessage().subscribe();
  EXPECT_EQ(asked.from_step(), 2U);
  EXPECT_FALSE(asked.has_cp_rank());
  EXPECT_EQ(asked.subscriber(), "agent-n1");
  call->Send(history_.Subscribed(2));
  call->Send(history_.Step(2));
  part.subscriber->Await();
  EXPECT_TRUE(std::holds_alternative<NothingYet>(feed_->Next(part.local)));
  const auto alone = stub_->AwaitStepCall();
  asked = alone->AwaitMessage().subscribe();
  EXPECT_EQ(asked.from_step(), 1U);
  EXPECT_EQ(asked.cp_rank(), 1U);
  alone->Send(history_.Subscribed(1));
  alone->Send(history_.Step(1, 0, 1));
  for (const uint64_t step : {1U, 2U}) EXPECT_EQ(AwaitStep(part), step);
}

TEST_F(StepFeedTest, WhereTheServerIsLostMeanwhileTheStepIsAskedForAgain) {
  Begin();
  const Follower part = AddPart();
  stub_->AwaitStepCall()->End(too_large_);
  stub_->AwaitStepCall()->End(kGone);
  const auto call = stub_->AwaitStepCall();
  EXPECT_FALSE(call->AwaitMessage().subscribe().has_cp_rank());
  EXPECT_EQ(sleeper_->slept().size(), 1U);
}

TEST_F(StepFeedTest, WhereNoPartComesEitherAllAreToldSo) {
  Begin();
  const Follower whole = Add("whole");
  stub_->AwaitStepCall()->End(too_large_);
  EXPECT_EQ(AwaitEnd(whole), too_large_);
  feed_->Stop();
  Begin();
  const Follower part = AddPart();
  for (int call = 0; call < 2; ++call) stub_->AwaitStepCall()->End(too_large_);
  EXPECT_EQ(AwaitEnd(part), too_large_);
}

TEST_F(StepFeedTest, WhoLeavesIsNotAskedForAnyMore) {
  const Follower late = AddLate();
  const auto call = stub_->AwaitStepCall();
  feed_->Remove(*late.local);
  call->AwaitGone();
}

TEST_F(StepFeedTest, AnotherShapeInTheSameEpochIsAnotherJob) {
  Begin();
  const Follower a = Add("a");
  auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->AwaitAllRead();
  call->End(kGone);
  call = stub_->AwaitStepCall();
  // A job's costs may become others at any time.
  v1::StreamStepsResponse subscribed = history_.Subscribed(0);
  subscribed.mutable_subscribed()->mutable_spec()->mutable_cost()->mutable_quadratic();
  call->Send(subscribed);
  call->Send(history_.Step(0));
  EXPECT_EQ(AwaitStep(a), 0U);
  call->End(kGone);
  call = stub_->AwaitStepCall();
  subscribed = history_.Subscribed(1);
  subscribed.mutable_subscribed()
      ->mutable_spec()
      ->mutable_consumer_layout()
      ->set_layout(v1::LAYOUT_TE_THD);
  call->Send(subscribed);
  EXPECT_THAT(AwaitEnd(a), StatusIs(absl::StatusCode::kUnavailable, _));
  call->AwaitGone();
  feed_->Stop();
  EXPECT_TRUE(feed_->over());
  EXPECT_EQ(stub_->step_calls(), 0U);
}

TEST_F(StepFeedTest, DamageEndsAll) {
  Begin();
  const Follower a = Add("a");
  const auto call = stub_->AwaitStepCall();
  call->Send(history_.Subscribed(0));
  call->Send(history_.Step(1));
  EXPECT_THAT(AwaitEnd(a), StatusIs(absl::StatusCode::kDataLoss, _));
}

}  // namespace
}  // namespace evenpack::agent
