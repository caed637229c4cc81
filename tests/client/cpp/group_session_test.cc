#include "client/cpp/group_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::FakeGroupCall;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::SessionFixture;
using ::evenpack::testing::StatusIs;
using CallPointer = std::shared_ptr<FakeGroupCall>;

v1::JoinGroupResponse Joined() {
  v1::JoinGroupResponse response;
  response.mutable_joined();
  return response;
}
v1::JoinGroupResponse Connect(uint64_t epoch) {
  v1::JoinGroupResponse response;
  response.mutable_connect()->set_epoch(epoch);
  response.mutable_connect()->add_addresses("h:1");
  response.mutable_connect()->add_addresses("h:2");
  return response;
}
v1::JoinGroupResponse Stands(uint64_t epoch) {
  v1::JoinGroupResponse response;
  response.mutable_stands()->set_epoch(epoch);
  return response;
}
v1::JoinGroupResponse GiveUp(uint64_t epoch) {
  v1::JoinGroupResponse response;
  response.mutable_give_up()->set_epoch(epoch);
  return response;
}

class GroupSessionTest : public SessionFixture {
 protected:
  void Start() {
    session_ = std::make_unique<GroupSession>(
        stub_, client_options_,
        GroupOptions{
            .job = "run", .dp_rank = 3, .cp_size = 2, .cp_rank = 1, .member = "a"});
  }
  // The next call, whose first message is as it must be.
  CallPointer AwaitCall() {
    CallPointer call = stub_->AwaitGroupCall();
    EXPECT_EQ(call->AwaitMessage().ShortDebugString(),
              "open { job: \"run\" dp_rank: 3 cp_size: 2 cp_rank: 1 member: \"a\" }");
    return call;
  }
  // "ADDRESS EPOCH", and "connected" where it is.
  static std::string AwaitState(FakeGroupCall& call) {
    const v1::MemberState state = call.AwaitMessage().state();
    return absl::StrCat(state.address(), " ", state.epoch(),
                        state.connected() ? " connected" : "");
  }
  // "connect 1: h:1 h:2", "stands 1", "give up 1" or the error's message.
  std::string Next() {
    const absl::StatusOr<GroupNews> news = session_->Next();
    if (!news.ok()) return std::string(news.status().message());
    switch (news->kind) {
      case GroupNews::Kind::kConnect:
        return absl::StrCat("connect ", news->epoch, ": ",
                            absl::StrJoin(news->addresses, " "));
      case GroupNews::Kind::kStands:
        return absl::StrCat("stands ", news->epoch);
      case GroupNews::Kind::kGiveUp:
        return absl::StrCat("give up ", news->epoch);
    }
    return "";
  }
  // A member that is connected in epoch 1, on this call.
  CallPointer Stand() {
    Start();
    session_->Report({"h:2"});
    CallPointer call = AwaitCall();
    AwaitState(*call);
    call->Send(Joined());
    call->Send(Connect(1));
    EXPECT_EQ(Next(), "connect 1: h:1 h:2");
    session_->Report({"h:2", 1, true});
    EXPECT_EQ(AwaitState(*call), "h:2 1 connected");
    call->Send(Stands(1));
    EXPECT_EQ(Next(), "stands 1");
    return call;
  }

  std::unique_ptr<GroupSession> session_;
};

TEST_F(GroupSessionTest, TellsWhatIsReportedAndHandsOutNews) {
  const CallPointer call = Stand();
  call->Send(GiveUp(1));
  EXPECT_EQ(Next(), "give up 1");
  session_->Report({"h:3", 1, false});
  EXPECT_EQ(AwaitState(*call), "h:3 1");
  call->Send(Connect(2));
  EXPECT_EQ(Next(), "connect 2: h:1 h:2");
}

TEST_F(GroupSessionTest, ALostCallIsOpenedAgainAndTellsHowItStands) {
  Stand()->End(kGone);
  const CallPointer again = AwaitCall();
  EXPECT_EQ(AwaitState(*again), "h:2 1 connected");
  again->Send(Joined());
  again->Send(Stands(1));
  EXPECT_EQ(Next(), "stands 1");
}

TEST_F(GroupSessionTest, WhoeverAsksIsToldOfLostCallsAndThatItGoesOn) {
  std::vector<std::string> told;
  client_options_.on_retry = [&told](const RetryNews& news) {
    told.push_back(absl::StrCat(news.what, ": ", news.why.message()));
  };
  Stand()->End(kGone);
  const CallPointer again = AwaitCall();
  again->Send(Joined());
  again->Send(Stands(1));
  EXPECT_EQ(Next(), "stands 1");
  EXPECT_EQ(told, (std::vector<std::string>{
                      "the group of DP rank 3 of job 'run': connection reset",
                      "the group of DP rank 3 of job 'run': "}));
}

TEST_F(GroupSessionTest, AConnectionUnderWayIsReportedInTheNextCall) {
  Start();
  session_->Report({"h:2"});
  const CallPointer call = AwaitCall();
  call->Send(Connect(1));
  EXPECT_EQ(Next(), "connect 1: h:1 h:2");
  call->End(kGone);
  call->AwaitGone();
  // It is not known yet how it went.
  session_->Report({"h:2", 1, true});
  const CallPointer again = AwaitCall();
  EXPECT_EQ(AwaitState(*again), "h:2 1 connected");
}

TEST_F(GroupSessionTest, NewsOfALostCallIsDropped) {
  Start();
  session_->Report({"h:2"});
  const CallPointer call = AwaitCall();
  call->Send(Connect(1));
  call->End(kGone);
  const CallPointer again = AwaitCall();
  EXPECT_EQ(AwaitState(*again), "h:2 0");
  again->Send(Connect(2));
  EXPECT_EQ(Next(), "connect 2: h:1 h:2");
}

TEST_F(GroupSessionTest, WhatIsToBeGivenUpIsNotBegunWith) {
  Start();
  session_->Report({"h:2"});
  const CallPointer call = AwaitCall();
  call->Send(Connect(1));
  call->Send(GiveUp(1));
  // Once this is read both are taken.
  call->Send(Joined());
  call->AwaitAllRead();
  EXPECT_EQ(Next(), "give up 1");
}

TEST_F(GroupSessionTest, ARankThatSaidItLostItsPeersNeedNotBeTold) {
  const CallPointer call = Stand();
  session_->Report({"h:3", 1, false});
  call->Send(GiveUp(1));
  call->Send(Connect(2));
  EXPECT_EQ(Next(), "connect 2: h:1 h:2");
}

// What the member would be asked to answer once more it may take for answered, and then
// no call would tell how it stands.
TEST_F(GroupSessionTest, NeitherIsWhoSaidSoBeforeItHeard) {
  const CallPointer call = Stand();
  call->Send(GiveUp(1));
  call->Send(Joined());
  call->AwaitAllRead();
  session_->Report({"h:3", 1, false});
  EXPECT_EQ(AwaitState(*call), "h:3 1");
  call->Send(Connect(2));
  EXPECT_EQ(Next(), "connect 2: h:1 h:2");
}

TEST_F(GroupSessionTest, WhileConnectedItNeverGivesUp) {
  client_options_.backoff.total = std::chrono::milliseconds(1000);
  CallPointer call = Stand();
  for (int i = 0; i < 50; ++i) {
    call->End(kGone);
    call = AwaitCall();
  }
  EXPECT_EQ(AwaitState(*call), "h:2 1 connected");
}

TEST_F(GroupSessionTest, WhileNotConnectedItGivesUpWhenTheBackoffHasEnded) {
  client_options_.backoff.total = client_options_.backoff.initial;
  Start();
  session_->Report({"h:2"});
  AwaitCall()->End(kGone);
  AwaitCall()->End(kGone);
  EXPECT_THAT(session_->Next().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "connection reset (gave up after 2 attempts)"));
}

TEST_F(GroupSessionTest, AServerThatLetsItJoinAndNoMoreIsGivenUp) {
  client_options_.backoff.total = std::chrono::milliseconds(300);
  Start();
  session_->Report({"h:2"});
  for (int i = 0; i < 4; ++i) {
    const CallPointer call = AwaitCall();
    EXPECT_EQ(AwaitState(*call), "h:2 0");
    call->Send(Joined());
    call->End(kGone);
  }
  EXPECT_EQ(Next(), "connection reset (gave up after 4 attempts)");
}

TEST_F(GroupSessionTest, AnErrorOfTheServersOwnIsFinal) {
  const absl::Status taken =
      ServerError(absl::StatusCode::kAborted, "taken", "SEAT_TAKEN");
  Stand()->End(taken);
  EXPECT_EQ(session_->Next().status(), taken);
  EXPECT_EQ(session_->Next().status(), taken);
}

TEST_F(GroupSessionTest, CancelEndsWhoWaits) {
  Start();
  std::thread waiting([this] {
    EXPECT_THAT(session_->Next().status(),
                StatusIs(absl::StatusCode::kCancelled, "the membership was cancelled"));
  });
  session_->Cancel();
  waiting.join();
}

TEST_F(GroupSessionTest, DestroyingOneCancelsItsCall) {
  const CallPointer call = Stand();
  session_.reset();
  call->AwaitGone();
}

}  // namespace
}  // namespace evenpack::client
