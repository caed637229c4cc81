#include "client/cpp/routed_stub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "client/cpp/consumer_session.h"
#include "client/cpp/group_session.h"
#include "client/cpp/producer_session.h"
#include "client/cpp/retrying_connection.h"
#include "server/core/digest/digest_bytes.h"
#include "tests/client/cpp/producer_fixture.h"
#include "tests/client/cpp/servers_fixture.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::Accepted;
using ::evenpack::testing::Documents;
using ::evenpack::testing::FakeIngestCall;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::kRefused;
using ::evenpack::testing::kUnavailable;
using ::evenpack::testing::LedAt;
using ::evenpack::testing::NobodyLeads;
using ::evenpack::testing::ServersFixture;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using std::chrono::milliseconds;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;

class RoutedStubTest : public ServersFixture {
 protected:
  std::shared_ptr<Connection> Connect(const std::vector<std::string>& given) {
    return MakeRetryingConnection(Routed(given), client_options_);
  }
  static v1::GetJobResponse Job(const std::string& name) {
    v1::GetJobResponse response;
    response.mutable_job()->set_name(name);
    return response;
  }
};

TEST_F(RoutedStubTest, ACallFollowsARedirectWithoutAWaitAndTheNextGoesThere) {
  const auto connection = Connect({"a:1"});
  EXPECT_CALL(At("a:1"), GetJob(_, _)).WillOnce(Return(LedAt("b:1")));
  EXPECT_CALL(At("b:1"), GetJob(_, _)).Times(2).WillRepeatedly(Return(Job("run")));
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(sleeper_->slept(), IsEmpty());
}

TEST_F(RoutedStubTest, AServerThatRedirectsNothingGetsEachCallOnce) {
  const auto connection = Connect({"a:1"});
  EXPECT_CALL(At("a:1"), GetJob(_, _))
      .WillOnce(Return(kGone))
      .WillOnce(Return(absl::NotFoundError("no such job")));
  EXPECT_THAT(connection->GetJob("run"),
              StatusIs(absl::StatusCode::kNotFound, "no such job"));
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(100)));
}

TEST_F(RoutedStubTest, ServersThatNameEachOtherEndInUnavailableNamingBoth) {
  client_options_.backoff.total = milliseconds(1000);
  const auto connection = Connect({"a:1"});
  int calls = 0;
  const auto counted = [&calls](const absl::Status& status) {
    return [&calls, status](const auto&, const auto&) {
      ++calls;
      return status;
    };
  };
  EXPECT_CALL(At("a:1"), GetJob(_, _)).WillRepeatedly(counted(LedAt("b:1")));
  EXPECT_CALL(At("b:1"), GetJob(_, _)).WillRepeatedly(counted(LedAt("a:1")));
  const Clock::TimePoint start = clock_.Now();
  EXPECT_THAT(
      connection->GetJob("run"),
      StatusIs(kUnavailable, AllOf(HasSubstr("a:1, b:1"), HasSubstr("gave up"))));
  EXPECT_EQ(clock_.Now() - start, milliseconds(1000));
  EXPECT_LT(calls, 20);
}

TEST_F(RoutedStubTest, ACallWaitsAsAServerSaysWhileNobodyLeadsAndAsksAnother) {
  const auto connection = Connect({"a:1", "b:1"});
  EXPECT_CALL(At("a:1"), GetJob(_, _)).WillOnce(Return(NobodyLeads()));
  EXPECT_CALL(At("b:1"), GetJob(_, _)).WillOnce(Return(Job("run")));
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(200)));
}

TEST_F(RoutedStubTest, ADeadLeaderIsAskedForAmongTheGivenServers) {
  const auto connection = Connect({"a:1"});
  EXPECT_CALL(At("a:1"), GetJob(_, _))
      .WillOnce(Return(LedAt("b:1")))
      .WillOnce(Return(NobodyLeads()))
      .WillOnce(Return(LedAt("c:1")));
  EXPECT_CALL(At("b:1"), GetJob(_, _))
      .WillOnce(Return(Job("run")))
      .WillOnce(Return(kRefused));
  EXPECT_CALL(At("c:1"), GetJob(_, _)).WillOnce(Return(Job("run")));
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(200)));
}

TEST_F(RoutedStubTest, OfThreeServersTwoMayBeGone) {
  const auto connection = Connect({"a:1", "b:1", "c:1"});
  EXPECT_CALL(At("a:1"), UpdateJob(_, _)).WillOnce(Return(kRefused));
  EXPECT_CALL(At("b:1"), UpdateJob(_, _)).WillOnce(Return(kRefused));
  EXPECT_CALL(At("c:1"), UpdateJob(_, _))
      .Times(2)
      .WillRepeatedly(Return(v1::UpdateJobResponse()));
  // Not a call that may be repeated, and none is.
  EXPECT_THAT(connection->UpdateJob({}), IsOk());
  EXPECT_THAT(connection->UpdateJob({}), IsOk());
  EXPECT_THAT(sleeper_->slept(), IsEmpty());
}

TEST_F(RoutedStubTest, ACallThatMayNotBeRepeatedIsNotWhereItsConnectionBroke) {
  const auto connection = Connect({"a:1", "b:1"});
  EXPECT_CALL(At("a:1"), UpdateJob(_, _)).WillOnce(Return(kGone));
  EXPECT_CALL(At("b:1"), UpdateJob(_, _)).Times(0);
  EXPECT_THAT(connection->UpdateJob({}),
              StatusIs(kUnavailable, "connection reset (asked a:1)"));
}

TEST_F(RoutedStubTest, AListSaysWhereTheJobsOfOthersAre) {
  const auto stub = Routed({"a:1"});
  v1::ListJobsResponse listed;
  listed.add_led_elsewhere()->set_name("run");
  listed.mutable_led_elsewhere(0)->set_address("b:1");
  listed.add_led_elsewhere()->set_name("orphan");
  EXPECT_CALL(At("a:1"), ListJobs(_, _)).WillOnce(Return(listed));
  EXPECT_THAT(stub->ListJobs({}, {}), IsOk());
  EXPECT_CALL(At("b:1"), GetJob(_, _)).WillOnce(Return(Job("run")));
  EXPECT_CALL(At("a:1"), GetJob(_, _)).WillOnce(Return(NobodyLeads()));
  v1::GetJobRequest request;
  request.set_name("run");
  EXPECT_THAT(stub->GetJob(request, {}), IsOk());
  request.set_name("orphan");
  EXPECT_THAT(stub->GetJob(request, {}), StatusIs(kUnavailable, _));
}

// Of a producer's call: opened for the job, and answered with what is next.
std::shared_ptr<FakeIngestCall> Accept(const std::shared_ptr<FakeIngestCall>& call,
                                       uint64_t next) {
  EXPECT_EQ(call->AwaitMessage().open().job(), "run");
  call->Send(Accepted(next));
  return call;
}

TEST_F(RoutedStubTest, AStreamThatMovesGoesOnWithEachDocumentOnce) {
  ProducerOptions options;
  options.job = "run";
  options.stream = "web";
  options.batch_documents = 4;
  ProducerSession producer(Routed({"a:1"}), client_options_, options);
  const auto first = Accept(At("a:1").AwaitIngestCall(), 0);
  EXPECT_THAT(producer.Add(Documents(8)), IsOk());
  for (const uint64_t sequence : {0U, 4U}) {
    EXPECT_EQ(first->AwaitMessage().batch().first_sequence(), sequence);
  }
  // The first half is committed, and the job moves.
  first->Send(Accepted(4));
  first->AwaitAllRead();
  while (producer.accepted_sequence() != 4) std::this_thread::yield();
  first->End(LedAt("b:1"));
  const auto second = Accept(At("b:1").AwaitIngestCall(), 4);
  const v1::DocumentBatch batch = second->AwaitMessage().batch();
  EXPECT_EQ(batch.first_sequence(), 4U);
  EXPECT_THAT(batch.length(), ElementsAre(14, 15, 16, 17));
  second->Send(Accepted(8));
  EXPECT_THAT(producer.Flush(), IsOk());
  EXPECT_EQ(second->messages(), 0U);
  EXPECT_THAT(sleeper_->slept(), IsEmpty());
}

TEST_F(RoutedStubTest, ASubscriptionIsMadeAgainWhereTheJobIsWithItsCursor) {
  const TestHistory history(4);
  ConsumerOptions options;
  options.job = "run";
  options.report_interval = milliseconds(0);
  ConsumerSession consumer(Routed({"a:1"}), client_options_, options);
  const auto elsewhere = At("a:1").AwaitStepCall();
  EXPECT_EQ(elsewhere->AwaitMessage().subscribe().job(), "run");
  elsewhere->End(LedAt("b:1"));
  auto call = At("b:1").AwaitStepCall();
  EXPECT_FALSE(call->AwaitMessage().subscribe().has_from_step());
  call->Send(history.Subscribed(0));
  call->Send(history.Step(0));
  EXPECT_THAT(consumer.Next(), IsOk());
  call->End(LedAt("c:1"));
  call = At("c:1").AwaitStepCall();
  const v1::Subscribe again = call->AwaitMessage().subscribe();
  EXPECT_EQ(again.from_step(), 1U);
  EXPECT_EQ(again.last_digest(), DigestBytes(history.DigestBefore(1)));
  call->Send(history.Subscribed(1));
  call->Send(history.Step(1));
  const auto step = consumer.Next();
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ((*step)->index(), 1U);
  EXPECT_THAT(sleeper_->slept(), IsEmpty());
}

TEST_F(RoutedStubTest, AStreamWhoseLeaderDiesAsksTheGivenServersForTheNext) {
  const TestHistory history(4);
  ConsumerOptions options;
  options.job = "run";
  options.report_interval = milliseconds(0);
  ConsumerSession consumer(Routed({"a:1", "b:1"}), client_options_, options);
  auto call = At("a:1").AwaitStepCall();
  call->Send(history.Subscribed(0));
  call->Send(history.Step(0));
  EXPECT_THAT(consumer.Next(), IsOk());
  call->End(kGone);
  At("b:1").AwaitStepCall()->End(NobodyLeads());
  // Gone still, which shows at once.
  At("a:1").AwaitStepCall()->End(kRefused);
  call = At("b:1").AwaitStepCall();
  EXPECT_EQ(call->AwaitMessage().subscribe().from_step(), 1U);
  call->Send(history.Subscribed(1));
  call->Send(history.Step(1));
  EXPECT_THAT(consumer.Next(), IsOk());
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(100), milliseconds(200)));
}

TEST_F(RoutedStubTest, AMemberTellsItsStateToTheServerThatAnotherNames) {
  GroupOptions options;
  options.job = "run";
  options.cp_size = 2;
  options.member = "me";
  GroupSession member(Routed({"a:1"}), client_options_, options);
  member.Report({.address = "here:1"});
  const auto elsewhere = At("a:1").AwaitGroupCall();
  EXPECT_EQ(elsewhere->AwaitMessage().open().job(), "run");
  EXPECT_EQ(elsewhere->AwaitMessage().state().address(), "here:1");
  elsewhere->End(LedAt("b:1"));
  const auto call = At("b:1").AwaitGroupCall();
  EXPECT_EQ(call->AwaitMessage().open().member(), "me");
  EXPECT_EQ(call->AwaitMessage().state().address(), "here:1");
}

TEST_F(RoutedStubTest, ACancelledStreamAsksNobodyElse) {
  const auto stub = Routed({"a:1", "b:1"});
  std::stop_source stop;
  const auto stream = stub->JoinGroup(stop.get_token());
  stream->Write({});
  At("a:1").AwaitGroupCall();
  stop.request_stop();
  v1::JoinGroupResponse response;
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kCancelled, _));
}

}  // namespace
}  // namespace evenpack::client
