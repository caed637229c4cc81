#include "client/agent/step_feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ServerError;
using evenpack::testing::SessionFixture;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::_;
using ::testing::HasSubstr;

class Unwoken final : public Subscriber {
 public:
  void Wake() override {}
};

// Does something when it is woken.
class Acting final : public Subscriber {
 public:
  explicit Acting(std::function<void()> act) : act_(std::move(act)) {}
  void Wake() override { act_(); }

 private:
  const std::function<void()> act_;
};

// What Subscribe came to.
class Made {
 public:
  StepFeeds::Done Taker() {
    return [this](absl::StatusOr<FeedSubscription> made) {
      MutexLock lock(mutex_);
      made_ = std::move(made);
      changed_.SignalAll();
    };
  }
  absl::StatusOr<FeedSubscription> Await() {
    MutexLock lock(mutex_);
    while (!made_.has_value()) changed_.Wait(mutex_);
    return *made_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<absl::StatusOr<FeedSubscription>> made_ EVENPACK_GUARDED_BY(mutex_);
};

class StepFeedsTest : public SessionFixture {
 protected:
  static v1::Subscribe Asked(const std::string& name) {
    v1::Subscribe subscribe;
    subscribe.set_job("run-7");
    subscribe.set_subscriber(name);
    subscribe.set_cp_rank(1);
    subscribe.set_credits(9);
    subscribe.set_sends_durable(true);
    return subscribe;
  }
  // What the client asks for, but for what the answer does not need.
  static void ExpectQuestion(const v1::Subscribe& asked, const std::string& name) {
    EXPECT_EQ(asked.subscriber(), name);
    EXPECT_EQ(asked.cp_rank(), 1U);
    EXPECT_EQ(asked.credits(), 1U);
    EXPECT_FALSE(asked.sends_durable());
  }
  // Subscribes; the server accepts, and the feed has its call.
  FeedSubscription Accepted(const std::string& name, const TestHistory& history,
                            bool first, uint64_t from = 0) {
    Made made;
    feeds_.Subscribe(Asked(name), std::make_shared<Unwoken>(), {}, made.Taker());
    const auto question = stub_->AwaitStepCall();
    ExpectQuestion(question->AwaitMessage().subscribe(), name);
    question->Send(history.Subscribed(from));
    auto subscription = made.Await();
    EXPECT_THAT(subscription, IsOk());
    EXPECT_EQ(*subscription->subscribed, history.Subscribed(from).SerializeAsString());
    question->AwaitGone();
    if (first) {
      const auto call = stub_->AwaitStepCall();
      EXPECT_EQ(call->AwaitMessage().subscribe().subscriber(), "agent-n1");
      calls_.push_back(call);
    }
    return *subscription;
  }

  const TestHistory history_{3};
  std::vector<std::shared_ptr<evenpack::testing::FakeStepCall>> calls_;
  std::unique_ptr<WorkerPool> pool_ = std::make_unique<WorkerPool>(1);
  StepFeeds feeds_{{stub_, client_options_, "agent-n1", pool_.get()}, {}};
};

TEST_F(StepFeedsTest, TheSameStepsHaveOneFeed) {
  const FeedSubscription a = Accepted("a", history_, true);
  const FeedSubscription b = Accepted("b", history_, false);
  EXPECT_EQ(a.feed, b.feed);
  EXPECT_EQ(feeds_.figures().feeds, 1U);
  EXPECT_EQ(feeds_.figures().locals, 2U);
  feeds_.Leave(a);
  EXPECT_EQ(feeds_.figures().feeds, 1U);
  feeds_.Leave(b);
  EXPECT_EQ(feeds_.figures().feeds, 0U);
  EXPECT_EQ(feeds_.figures().locals, 0U);
  // Its call is cancelled.
  calls_[0]->AwaitGone();
  pool_.reset();
}

// Its next call would take the claim of the feed that is made after it.
TEST_F(StepFeedsTest, AFeedThatNobodyHasOpensNoCallWhileItWaitsToBeFreed) {
  const FeedSubscription a = Accepted("a", history_, true);
  Made waiting;
  // The pool's one thread is in this.
  feeds_.Subscribe(Asked("b"), std::make_shared<Unwoken>(), {}, waiting.Taker());
  const auto question = stub_->AwaitStepCall();
  feeds_.Leave(a);
  EXPECT_TRUE(calls_[0]->IsGone());
  question->Send(history_.Subscribed(0));
  const auto b = waiting.Await();
  ASSERT_THAT(b, IsOk());
  EXPECT_NE(a.feed, b->feed);
  feeds_.Leave(*b);
  pool_.reset();
}

TEST_F(StepFeedsTest, ANewEpochHasAFeedOfItsOwn) {
  const FeedSubscription a = Accepted("a", history_, true);
  const FeedSubscription b = Accepted("b", TestHistory(3, 1), true);
  EXPECT_NE(a.feed, b.feed);
  EXPECT_EQ(a.feed->key().epoch, 0U);
  EXPECT_EQ(b.feed->key().epoch, 1U);
  feeds_.Leave(a);
  feeds_.Leave(b);
  pool_.reset();
}

// Under the same name; the end of the old one's feed has not been heard of yet.
TEST_F(StepFeedsTest, AJobOfAnotherShapeHasAFeedOfItsOwn) {
  const FeedSubscription a = Accepted("a", history_, true);
  v1::StreamStepsResponse other = history_.Subscribed(0);
  other.mutable_subscribed()->mutable_spec()->set_window(2048);
  Made made;
  feeds_.Subscribe(Asked("b"), std::make_shared<Unwoken>(), {}, made.Taker());
  stub_->AwaitStepCall()->Send(other);
  const auto b = made.Await();
  ASSERT_THAT(b, IsOk());
  EXPECT_NE(a.feed, b->feed);
  const LocalMessage next = a.feed->Next(a.local);
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  EXPECT_THAT(std::get<EndCall>(next).status,
              StatusIs(absl::StatusCode::kUnavailable, _));
  calls_[0]->AwaitGone();
  EXPECT_EQ(feeds_.figures().feeds, 1U);
  feeds_.Leave(a);
  EXPECT_EQ(feeds_.figures().feeds, 1U);
  feeds_.Leave(*b);
  pool_.reset();
}

TEST_F(StepFeedsTest, WhoComesWhileAFeedEndsGetsAnother) {
  v1::Subscribe asked = Asked("a");
  asked.set_sends_durable(false);
  Made first;
  Made second;
  // From within the end of the feed that the first has.
  const auto subscribes = std::make_shared<Acting>([&] {
    feeds_.Subscribe(asked, std::make_shared<Unwoken>(), {}, second.Taker());
    static_cast<void>(second.Await());
  });
  feeds_.Subscribe(asked, subscribes, {}, first.Taker());
  stub_->AwaitStepCall()->Send(history_.Subscribed(0));
  const auto a = first.Await();
  ASSERT_THAT(a, IsOk());
  EXPECT_TRUE(std::holds_alternative<NothingYet>(a->feed->Next(a->local)));
  stub_->AwaitStepCall()->End(
      ServerError(absl::StatusCode::kAborted, "epoch: 0", "EPOCH_ENDED"));
  stub_->AwaitStepCall()->Send(history_.Subscribed(0));
  const auto b = second.Await();
  ASSERT_THAT(b, IsOk());
  EXPECT_NE(a->feed, b->feed);
  EXPECT_EQ(feeds_.figures().feeds, 1U);
  feeds_.Leave(*a);
  feeds_.Leave(*b);
  pool_.reset();
}

TEST_F(StepFeedsTest, TheServersRefusalIsTheAnswer) {
  Made made;
  v1::Subscribe asked = Asked("a");
  asked.set_credits(UINT32_MAX);
  feeds_.Subscribe(asked, std::make_shared<Unwoken>(), {}, made.Taker());
  const auto question = stub_->AwaitStepCall();
  // So that the server says so.
  EXPECT_EQ(question->AwaitMessage().subscribe().credits(), UINT32_MAX);
  const absl::Status refused = ServerError(absl::StatusCode::kInvalidArgument,
                                           "credits: no", "INVALID_ARGUMENT");
  question->End(refused);
  EXPECT_EQ(made.Await().status(), refused);
  EXPECT_EQ(feeds_.figures().feeds, 0U);
  pool_.reset();
}

TEST_F(StepFeedsTest, TheEndWaitsForNoStepThatIsFetchedAlone) {
  const FeedSubscription ahead = Accepted("ahead", history_, true, 2);
  const FeedSubscription behind = Accepted("behind", history_, false, 0);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(behind.feed->Next(behind.local)));
  const auto alone = stub_->AwaitStepCall();
  feeds_.Stop();
  alone->AwaitGone();
  feeds_.Leave(ahead);
  feeds_.Leave(behind);
  pool_.reset();
  const LocalMessage next = behind.feed->Next(behind.local);
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  EXPECT_THAT(std::get<EndCall>(next).status,
              StatusIs(absl::StatusCode::kCancelled, _));
}

// At the server the question that is asked later takes the other's claim.
TEST_F(StepFeedsTest, NobodyIsAskedForBehindANewerOneWithTheClaim) {
  const auto older = std::make_shared<Unwoken>();
  const auto newer = std::make_shared<Unwoken>();
  auto pool = std::make_unique<WorkerPool>(2);
  StepFeeds feeds({stub_, client_options_, "agent-n1", pool.get()}, {});
  Made of_newer;
  feeds.Subscribe(Asked("a"), newer, {}, of_newer.Taker());
  const auto question = stub_->AwaitStepCall();
  Made of_older;
  feeds.Subscribe(Asked("a"), older, {}, of_older.Taker());
  EXPECT_THAT(of_older.Await(), StatusIs(absl::StatusCode::kAborted,
                                         HasSubstr("a newer subscription took")));
  EXPECT_EQ(stub_->step_calls(), 0U);
  question->Send(history_.Subscribed(0));
  const auto made = of_newer.Await();
  ASSERT_THAT(made, IsOk());
  feeds.Leave(*made);
  pool.reset();
}

TEST_F(StepFeedsTest, AQuestionEndsWhereANewerOneWithItsClaimIsAsked) {
  const auto older = std::make_shared<Unwoken>();
  const auto newer = std::make_shared<Unwoken>();
  auto pool = std::make_unique<WorkerPool>(2);
  StepFeeds feeds({stub_, client_options_, "agent-n1", pool.get()}, {});
  Made of_older;
  feeds.Subscribe(Asked("a"), older, {}, of_older.Taker());
  const auto first = stub_->AwaitStepCall();
  first->AwaitMessage();
  Made of_newer;
  feeds.Subscribe(Asked("a"), newer, {}, of_newer.Taker());
  const auto question = stub_->AwaitStepCall();
  EXPECT_TRUE(first->IsGone());
  EXPECT_THAT(of_older.Await(), StatusIs(absl::StatusCode::kAborted,
                                         HasSubstr("a newer subscription took")));
  question->Send(history_.Subscribed(0));
  const auto made = of_newer.Await();
  ASSERT_THAT(made, IsOk());
  feeds.Leave(*made);
  pool.reset();
}

TEST_F(StepFeedsTest, NobodyIsAskedForWhoGaveUp) {
  std::stop_source gives_up;
  Made asked;
  Made waiting;
  for (Made* const made : {&asked, &waiting}) {
    feeds_.Subscribe(Asked("a"), std::make_shared<Unwoken>(), gives_up.get_token(),
                     made->Taker());
  }
  // The pool's one thread is in the first of them.
  const auto question = stub_->AwaitStepCall();
  gives_up.request_stop();
  question->AwaitGone();
  for (Made* const made : {&asked, &waiting}) {
    EXPECT_THAT(made->Await(), StatusIs(absl::StatusCode::kCancelled, _));
  }
  EXPECT_EQ(stub_->step_calls(), 0U);
  EXPECT_EQ(feeds_.figures().feeds, 0U);
  pool_.reset();
}

}  // namespace
}  // namespace evenpack::agent
