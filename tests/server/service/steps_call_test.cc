#include "server/service/steps_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/core/digest/digest_bytes.h"
#include "server/core/document/step.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using google::rpc::ErrorInfo;
using grpc::StatusCode;
using testing::DetailIn;
using testing::DoIngest;
using testing::DoUpdate;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::StepsClient;
using testing::SubscribeTo;
using testing::TestServer;

class StepsCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
    job_ = server_.jobs().Find("job").value();
  }
  // Documents of so many more steps.
  void MakeSteps(size_t steps) {
    const std::vector<uint32_t> lengths(8 * steps, 50);
    ASSERT_THAT(DoIngest(*job_, sent_, lengths), IsOk());
    sent_ += lengths.size();
  }
  void EndStream() { ASSERT_THAT(testing::Do(*job_, EndOfStream{"a", sent_}), IsOk()); }
  void MakeDurable(uint64_t step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(server_.Acknowledge("job", rank, step), IsGrpcOk());
    }
  }
  // What a call that asks for this ends with.
  grpc::Status Refusal(const v1::Subscribe& subscribe) {
    StepsClient client(server_);
    client.Subscribe(subscribe);
    return client.Finish();
  }

  TestServer server_;
  std::shared_ptr<Job> job_;
  uint64_t sent_ = 0;
};

TEST_F(StepsCallTest, ASubscriberIsToldTheShapeThenStepsThenThatTheJobIsDrained) {
  MakeSteps(2);
  StepsClient client(server_, SubscribeTo("job", 1));
  const v1::Subscribed subscribed = client.ReadSubscribed();
  EXPECT_EQ(subscribed.epoch(), 0U);
  EXPECT_EQ(subscribed.from_step(), 0U);
  EXPECT_EQ(subscribed.durable_steps(), 0U);
  EXPECT_EQ(subscribed.previous_digest(), DigestBytes(GenesisDigest()));
  EXPECT_EQ(subscribed.spec().window(), 100U);
  EXPECT_EQ(subscribed.spec().backlog_limit(), 4);
  const v1::Step first = client.ReadStep();
  EXPECT_EQ(first.index(), 0U);
  EXPECT_EQ(first.dp_rank(), 1U);
  ASSERT_EQ(first.micro_batches_size(), 2);
  EXPECT_EQ(first.micro_batches(0).index(), 2U);
  EXPECT_FALSE(first.micro_batches(0).has_slices());
  EXPECT_EQ(first.previous_digest(), subscribed.previous_digest());
  const v1::Step second = client.ReadStep();
  EXPECT_EQ(second.index(), 1U);
  EXPECT_EQ(second.previous_digest(), first.digest());
  MakeSteps(1);
  const v1::Step third = client.ReadStep();
  EXPECT_EQ(third.index(), 2U);
  EndStream();
  const v1::Drained drained = client.ReadDrained();
  EXPECT_EQ(drained.steps(), 3U);
  EXPECT_EQ(drained.digest(), third.digest());
  client.WritesDone();
  EXPECT_THAT(client.Finish(), IsGrpcOk());
}

TEST_F(StepsCallTest, TheSlicesOfAContextParallelRankComeWhereAskedFor) {
  MakeSteps(1);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_cp_rank(1);
  StepsClient client(server_, subscribe);
  client.ReadSubscribed();
  const v1::Step step = client.ReadStep();
  EXPECT_EQ(step.micro_batches(0).slices().cp_rank(), 1U);
  EXPECT_EQ(step.micro_batches(0).slices().tokens(), 50U);
}

TEST_F(StepsCallTest, NoMoreStepsComeThanThereAreCredits) {
  MakeSteps(5);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_credits(2);
  StepsClient client(server_, subscribe);
  client.ReadSubscribed();
  EXPECT_EQ(client.ReadStep().index(), 0U);
  EXPECT_EQ(client.ReadStep().index(), 1U);
  EXPECT_EQ(job_->Figures().unused_credits, 0U);
  ASSERT_TRUE(client.Received(0));
  EXPECT_EQ(client.ReadStep().index(), 2U);
  ASSERT_TRUE(client.Received(2));
  EXPECT_EQ(client.ReadStep().index(), 3U);
  EXPECT_EQ(client.ReadStep().index(), 4U);
  EXPECT_EQ(job_->Figures().unused_credits, 0U);
}

TEST_F(StepsCallTest, AHalfClosedCallEndsOnceItsCreditsAreSpent) {
  MakeSteps(3);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_credits(2);
  StepsClient client(server_, subscribe);
  client.WritesDone();
  client.ReadSubscribed();
  EXPECT_EQ(client.ReadStep().index(), 0U);
  EXPECT_EQ(client.ReadStep().index(), 1U);
  EXPECT_FALSE(client.Read().has_value());
  EXPECT_THAT(client.Finish(), IsGrpcOk());
}

TEST_F(StepsCallTest, DurableMarksAreAnsweredAndLetStepsGo) {
  MakeSteps(3);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_sends_durable(true);
  subscribe.set_from_step(3);
  StepsClient client(server_, subscribe);
  client.ReadSubscribed();
  ASSERT_TRUE(client.Durable(1));
  EXPECT_EQ(client.ReadMarked(), 2U);
  ASSERT_TRUE(client.Durable(0));
  EXPECT_EQ(client.ReadMarked(), 2U);
  ASSERT_THAT(server_.Acknowledge("job", 1, 2), IsGrpcOk());
  EXPECT_EQ(server_.Get("job").oldest_step(), 2U);
  EXPECT_EQ(server_.Get("job").durable_steps(), 2U);
  StepsClient again(server_, SubscribeTo("job", 1));
  EXPECT_EQ(again.ReadSubscribed().from_step(), 3U);
}

TEST_F(StepsCallTest, AMarkBeforeAHalfCloseIsAnsweredBeforeTheCallEnds) {
  MakeSteps(3);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_sends_durable(true);
  subscribe.set_credits(2);
  StepsClient client(server_, subscribe);
  client.ReadSubscribed();
  client.ReadStep();
  client.ReadStep();
  server_.room().store().Block();
  ASSERT_TRUE(client.Durable(1));
  client.WritesDone();
  server_.room().store().WaitUntilBlocked();
  server_.room().store().Release();
  EXPECT_EQ(client.ReadMarked(), 2U);
  EXPECT_FALSE(client.Read().has_value());
  EXPECT_THAT(client.Finish(), IsGrpcOk());
}

TEST_F(StepsCallTest, NoMoreIsReadWhileManyMarksAreNotCommitted) {
  constexpr uint64_t kSteps = 100;
  constexpr uint64_t kMostUncommitted = 64;
  MakeSteps(kSteps);
  ASSERT_THAT(server_.Acknowledge("job", 1, kSteps - 1), IsGrpcOk());
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_sends_durable(true);
  subscribe.set_from_step(kSteps);
  StepsClient client(server_, subscribe);
  client.ReadSubscribed();
  server_.room().store().Block();
  std::thread writer([&client] {
    for (uint64_t step = 0; step < kSteps; ++step) EXPECT_TRUE(client.Durable(step));
  });
  const auto decided = [this] { return job_->Figures().durable_steps; };
  while (decided() < kMostUncommitted) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(server_.Delete("other").ok());
  EXPECT_EQ(decided(), kMostUncommitted);
  server_.room().store().Release();
  uint64_t marked = 0;
  for (uint64_t i = 0; i < kSteps && marked < kSteps; ++i) marked = client.ReadMarked();
  EXPECT_EQ(marked, kSteps);
  writer.join();
}

TEST_F(StepsCallTest, MarksThatAreNotTakenEndTheCall) {
  MakeSteps(1);
  {
    StepsClient client(server_, SubscribeTo("job"));
    client.Durable(0);
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::FAILED_PRECONDITION,
                                              "DURABLE_NOT_CLAIMED", HasSubstr("")));
  }
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_sends_durable(true);
  {
    StepsClient client(server_, subscribe);
    client.Durable(1);
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                                              HasSubstr("step: 1 is not decided")));
  }
  {
    StepsClient client(server_, subscribe);
    client.Durable(0, 4);
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED",
                                              HasSubstr("epoch: 4")));
  }
  {
    StepsClient client(server_, subscribe);
    client.Received(9);
    EXPECT_THAT(client.Finish(),
                GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                             HasSubstr("received: step 9 was not sent")));
  }
}

TEST_F(StepsCallTest, AMarkThatTheStoreRefusesEndsTheCallBehindTheStepsThatItCanSend) {
  constexpr uint32_t kSteps = 100;
  MakeSteps(kSteps);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_sends_durable(true);
  for (const uint32_t credits : {kSteps + 1, kSteps - 1}) {
    subscribe.set_credits(credits);
    server_.room().store().FailCommits(2);
    StepsClient client(server_, subscribe);
    ASSERT_TRUE(client.Durable(0));
    client.ReadSubscribed();
    for (uint32_t step = 0; step < std::min(credits, kSteps); ++step) {
      ASSERT_EQ(client.ReadStep().index(), step);
    }
    EXPECT_FALSE(client.Read().has_value());
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED",
                                              HasSubstr("the disk is full")));
  }
}

TEST_F(StepsCallTest, MessagesOutOfOrderAreRefused) {
  v1::StreamStepsRequest received;
  received.mutable_received();
  v1::StreamStepsRequest subscribe;
  *subscribe.mutable_subscribe() = SubscribeTo("job");
  struct {
    std::vector<v1::StreamStepsRequest> requests;
    std::string message;
  } const cases[] = {
      {{received}, "another message"},
      {{{}}, "another message"},
      {{}, "none"},
      {{subscribe, subscribe}, "a second subscribe"},
      {{subscribe, {}}, "nothing"},
  };
  for (const auto& wrong : cases) {
    StepsClient client(server_);
    for (const v1::StreamStepsRequest& request : wrong.requests) client.Write(request);
    client.WritesDone();
    const grpc::Status status = client.Finish();
    EXPECT_THAT(status, RefusesField("message"));
    EXPECT_THAT(status.error_message(), HasSubstr(wrong.message));
  }
}

TEST_F(StepsCallTest, RefusedFieldsOfASubscriptionAreNamed) {
  struct {
    std::function<void(v1::Subscribe&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& s) { s.set_dp_rank(2); }, "subscribe.dp_rank"},
      {[](auto& s) { s.set_cp_rank(2); }, "subscribe.cp_rank"},
      {[](auto& s) { s.set_subscriber(std::string(257, 'x')); },
       "subscribe.subscriber"},
      {[](auto& s) { s.set_credits(2147483648U); }, "subscribe.credits"},
      {[](auto& s) {
         s.set_from_step(0);
         s.set_last_digest("123");
       },
       "subscribe.last_digest"},
      {[](auto& s) { s.set_last_digest(std::string(16, 'x')); },
       "subscribe.last_digest"},
      {[](auto& s) { s.set_layout(static_cast<v1::Layout>(77)); }, "subscribe.layout"},
  };
  for (const auto& refused : cases) {
    v1::Subscribe subscribe = SubscribeTo("job");
    refused.damage(subscribe);
    EXPECT_THAT(Refusal(subscribe), RefusesField(refused.field));
  }
}

TEST_F(StepsCallTest, EveryOtherRefusalHasItsCodeAndReason) {
  MakeSteps(4);
  MakeDurable(1);
  EXPECT_THAT(Refusal(SubscribeTo("other")),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("other")));
  v1::Subscribe gone = SubscribeTo("job");
  gone.set_from_step(1);
  const grpc::Status let_go = Refusal(gone);
  EXPECT_THAT(let_go, GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_LET_GO",
                                   HasSubstr("the oldest kept is 2")));
  EXPECT_EQ(DetailIn<ErrorInfo>(let_go)->metadata().at("oldest_step"), "2");
  v1::Subscribe beyond = SubscribeTo("job");
  beyond.set_from_step(5);
  EXPECT_THAT(Refusal(beyond), GrpcStatusIs(StatusCode::DATA_LOSS, "HISTORY_DIFFERS",
                                            HasSubstr("from_step: 5")));
  v1::Subscribe other_history = SubscribeTo("job");
  other_history.set_from_step(3);
  other_history.set_last_digest(std::string(16, 'x'));
  EXPECT_THAT(Refusal(other_history),
              GrpcStatusIs(StatusCode::DATA_LOSS, "HISTORY_DIFFERS",
                           HasSubstr("last_digest: 7878")));
  v1::Subscribe other_epoch = SubscribeTo("job");
  other_epoch.set_epoch(3);
  const grpc::Status epoch = Refusal(other_epoch);
  EXPECT_THAT(epoch, GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED",
                                  HasSubstr("the job is in epoch 0")));
  EXPECT_EQ(DetailIn<ErrorInfo>(epoch)->metadata().at("data_parallel"), "2");
  v1::Subscribe other_layout = SubscribeTo("job");
  other_layout.set_layout(v1::LAYOUT_TE_THD);
  EXPECT_THAT(Refusal(other_layout),
              GrpcStatusIs(StatusCode::FAILED_PRECONDITION, "LAYOUT_DIFFERS",
                           HasSubstr("layout: te_thd")));
}

TEST_F(StepsCallTest, AClientThatComesBackGoesOnWhereItWas) {
  MakeSteps(3);
  v1::Subscribe subscribe = SubscribeTo("job");
  std::string digest;
  {
    StepsClient client(server_, subscribe);
    client.ReadSubscribed();
    client.ReadStep();
    digest = client.ReadStep().digest();
  }
  subscribe.set_from_step(2);
  subscribe.set_last_digest(digest);
  subscribe.set_epoch(0);
  subscribe.set_layout(v1::LAYOUT_NATIVE);
  StepsClient client(server_, subscribe);
  EXPECT_EQ(client.ReadSubscribed().previous_digest(), digest);
  EXPECT_EQ(client.ReadStep().index(), 2U);
}

TEST_F(StepsCallTest, ANewerSubscriptionTakesTheClaim) {
  StepsClient older(server_, SubscribeTo("job"));
  older.ReadSubscribed();
  StepsClient newer(server_, SubscribeTo("job"));
  newer.ReadSubscribed();
  EXPECT_THAT(older.Finish(),
              GrpcStatusIs(StatusCode::ABORTED, "CLAIM_TAKEN", HasSubstr("dp_rank 0")));
  MakeSteps(1);
  EXPECT_EQ(newer.ReadStep().index(), 0U);
}

TEST_F(StepsCallTest, ACancelledCallFreesItsClaims) {
  {
    v1::Subscribe subscribe = SubscribeTo("job");
    subscribe.set_sends_durable(true);
    StepsClient client(server_, subscribe);
    client.ReadSubscribed();
    EXPECT_EQ(server_.Get("job").subscribers(), 1U);
    client.Cancel();
    EXPECT_EQ(client.Finish().error_code(), StatusCode::CANCELLED);
  }
  server_.WaitUntilNoCalls();
  EXPECT_EQ(server_.Get("job").subscribers(), 0U);
}

TEST_F(StepsCallTest, AnUpdateEndsCallsWithTheNewShape) {
  MakeSteps(1);
  StepsClient client(server_, SubscribeTo("job"));
  client.ReadSubscribed();
  client.ReadStep();
  ASSERT_THAT(DoUpdate(*job_, *job_->FindStep(0).value()->spec, 0), IsOk());
  const grpc::Status ended = client.Finish();
  EXPECT_THAT(ended, GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED",
                                  HasSubstr("the job is in epoch 1")));
  EXPECT_EQ(DetailIn<ErrorInfo>(ended)->metadata().at("epoch"), "1");
  StepsClient again(server_, SubscribeTo("job"));
  EXPECT_EQ(again.ReadSubscribed().epoch(), 1U);
  EXPECT_EQ(again.ReadStep().epoch(), 1U);
}

TEST_F(StepsCallTest, DeletingTheJobEndsItsCalls) {
  StepsClient client(server_, SubscribeTo("job"));
  client.ReadSubscribed();
  ASSERT_THAT(server_.Delete("job"), IsGrpcOk());
  EXPECT_THAT(client.Finish(),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("'job'")));
}

TEST_F(StepsCallTest, ADrainOfTheServerEndsCalls) {
  StepsClient client(server_, SubscribeTo("job"));
  client.ReadSubscribed();
  server_.calls().steps.Drain();
  const grpc::Status ended = client.Finish();
  EXPECT_THAT(ended, GrpcStatusIs(StatusCode::UNAVAILABLE, "DRAINING",
                                  HasSubstr("shutting down")));
  EXPECT_TRUE(DetailIn<google::rpc::RetryInfo>(ended).has_value());
  EXPECT_EQ(Refusal(SubscribeTo("job")).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(StepsCallTest, WhoReadsTooSlowlyIsToldWhatIsLeft) {
  MakeSteps(4);
  v1::Subscribe subscribe = SubscribeTo("job");
  subscribe.set_subscriber("slow");
  subscribe.set_credits(1);
  StepsClient slow(server_, subscribe);
  slow.ReadSubscribed();
  EXPECT_EQ(slow.ReadStep().index(), 0U);
  MakeDurable(2);
  ASSERT_TRUE(slow.Received(0));
  EXPECT_THAT(slow.Finish(), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "STEP_LET_GO",
                                          HasSubstr("the oldest kept is 3")));
}

TEST(StepsCallLimitTest, ThereAreAsManyCallsAsTheServerHolds) {
  TestServer server(/*commit_waits=*/true, /*max_calls=*/2);
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  {
    StepsClient first(server, SubscribeTo("job", 0));
    first.ReadSubscribed();
    StepsClient second(server, SubscribeTo("job", 1));
    second.ReadSubscribed();
    StepsClient one_more(server);
    one_more.Subscribe(SubscribeTo("job"));
    EXPECT_THAT(one_more.Finish(),
                GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_CALLS",
                             HasSubstr("there are 2")));
  }
  server.WaitUntilNoCalls();
  StepsClient next(server, SubscribeTo("job"));
  next.ReadSubscribed();
}

TEST(StepsCallLimitTest, APeerAndAJobHaveSoManySubscriptions) {
  for (const Quota quota : {Quota::kPeerStepStreams, Quota::kJobStepStreams}) {
    QuotaLimits limits = {};
    limits[static_cast<size_t>(quota)] = 2;
    TestServer server(true, 10, limits);
    for (const char* job : {"job", "other"}) {
      ASSERT_THAT(server.Create(job, ServiceSpec()), IsGrpcOk());
    }
    {
      StepsClient first(server, SubscribeTo("job", 0));
      first.ReadSubscribed();
      StepsClient second(server, SubscribeTo("job", 1));
      second.ReadSubscribed();
      StepsClient one_more(server);
      one_more.Subscribe(SubscribeTo("job"));
      EXPECT_THAT(one_more.Finish(),
                  GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                               HasSubstr(std::string(NameOf(quota).flag))));
      StepsClient of_another_job(server);
      of_another_job.Subscribe(SubscribeTo("other"));
      EXPECT_EQ(of_another_job.Read().has_value(), quota == Quota::kJobStepStreams);
    }
    server.WaitUntilNoCalls();
    EXPECT_EQ(server.quotas().held.size(), 0U);
    StepsClient next(server, SubscribeTo("job"));
    next.ReadSubscribed();
  }
}

TEST_F(StepsCallTest, DeliveriesAreCounted) {
  MakeSteps(3);
  StepsClient client(server_, SubscribeTo("job"));
  client.ReadSubscribed();
  for (int i = 0; i < 3; ++i) client.ReadStep();
  // A delivery is counted before the next message is begun.
  EndStream();
  client.ReadDrained();
  EXPECT_EQ(job_->Figures().delivery_seconds.count(), 3U);
}

}  // namespace
}  // namespace evenpack
