#include "server/service/group_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/runtime/status_detail.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using ::testing::_;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IsGrpcOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::TestServer;

v1::JoinGroupRequest Seat(uint32_t cp_rank, const std::string& member) {
  v1::JoinGroupRequest request;
  v1::OpenGroup& open = *request.mutable_open();
  open.set_job("job");
  open.set_dp_rank(1);
  open.set_cp_size(2);
  open.set_cp_rank(cp_rank);
  open.set_member(member);
  return request;
}

v1::JoinGroupRequest State(const std::string& address, uint64_t epoch = 0,
                           bool connected = false) {
  v1::JoinGroupRequest request;
  request.mutable_state()->set_address(address);
  request.mutable_state()->set_epoch(epoch);
  request.mutable_state()->set_connected(connected);
  return request;
}

// A call of JoinGroup. Cancelled where it isn't finished.
class GroupClient {
 public:
  explicit GroupClient(TestServer& server)
      : stream_(server.stub().JoinGroup(&context_)) {}
  GroupClient(TestServer& server, uint32_t cp_rank, const std::string& member)
      : GroupClient(server) {
    EXPECT_TRUE(Write(Seat(cp_rank, member)));
    EXPECT_TRUE(Write(State(member)));
    EXPECT_EQ(Read(), "joined { }");
  }
  ~GroupClient() {
    if (finished_) return;
    context_.TryCancel();
    Finish();
  }
  GroupClient(const GroupClient&) = delete;
  GroupClient& operator=(const GroupClient&) = delete;

  bool Write(const v1::JoinGroupRequest& request) { return stream_->Write(request); }
  void WritesDone() { stream_->WritesDone(); }
  std::string Read() {
    v1::JoinGroupResponse response;
    return stream_->Read(&response) ? response.ShortDebugString() : "the end";
  }
  grpc::Status Finish() {
    finished_ = true;
    while (Read() != "the end") {
    }
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::JoinGroupRequest, v1::JoinGroupResponse>>
      stream_;
  bool finished_ = false;
};

class GroupCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
  }

  // What a call with these messages ends with.
  grpc::Status Refusal(const std::vector<v1::JoinGroupRequest>& requests) {
    GroupClient client(server_);
    for (const v1::JoinGroupRequest& request : requests) client.Write(request);
    client.WritesDone();
    return client.Finish();
  }
  grpc::Status RefusalOfSeat(void (*change)(v1::OpenGroup&)) {
    v1::JoinGroupRequest seat = Seat(0, "a");
    change(*seat.mutable_open());
    return Refusal({seat, State("h:1")});
  }

  TestServer server_;
};

TEST_F(GroupCallTest, AGroupConnectsAndFormsAnewWhereARankLostItsPeers) {
  GroupClient a(server_, 0, "a");
  GroupClient b(server_, 1, "b");
  const std::string connect = "connect { epoch: 1 addresses: \"a\" addresses: \"b\" }";
  EXPECT_EQ(a.Read(), connect);
  EXPECT_EQ(b.Read(), connect);
  ASSERT_TRUE(a.Write(State("a", 1, true)));
  ASSERT_TRUE(b.Write(State("b", 1, true)));
  EXPECT_EQ(a.Read(), "stands { epoch: 1 }");
  EXPECT_EQ(b.Read(), "stands { epoch: 1 }");
  ASSERT_TRUE(b.Write(State("b'", 1, false)));
  EXPECT_EQ(a.Read(), "give_up { epoch: 1 }");
  ASSERT_TRUE(a.Write(State("a'", 1, false)));
  EXPECT_EQ(b.Read(), "connect { epoch: 2 addresses: \"a\\'\" addresses: \"b\\'\" }");
}

TEST_F(GroupCallTest, WhoSaysNoMoreLeaves) {
  GroupClient a(server_, 0, "a");
  a.WritesDone();
  EXPECT_THAT(a.Finish(), IsGrpcOk());
  server_.WaitUntilNoCalls();
  EXPECT_EQ(server_.jobs().Find("job").value()->Figures().group_members, 0U);
}

TEST_F(GroupCallTest, ANewerCallTakesTheSeat) {
  GroupClient before(server_, 0, "a");
  GroupClient peer(server_, 1, "b");
  EXPECT_THAT(before.Read(), HasSubstr("epoch: 1"));
  GroupClient after(server_, 0, "a2");
  EXPECT_THAT(before.Finish(),
              GrpcStatusIs(StatusCode::ABORTED, "SEAT_TAKEN", HasSubstr("'a'")));
}

TEST_F(GroupCallTest, MessagesComeInTheirOrder) {
  EXPECT_THAT(Refusal({}), RefusesField("message"));
  EXPECT_THAT(Refusal({Seat(0, "a")}), RefusesField("message"));
  EXPECT_THAT(Refusal({State("h:1")}), RefusesField("message"));
  EXPECT_THAT(Refusal({Seat(0, "a"), Seat(0, "a")}), RefusesField("message"));
  EXPECT_THAT(Refusal({Seat(0, "a"), v1::JoinGroupRequest()}), RefusesField("message"));
}

TEST_F(GroupCallTest, RefusesByNameWhatIsNoSeatOrState) {
  EXPECT_THAT(RefusalOfSeat([](v1::OpenGroup& open) { open.set_dp_rank(2); }),
              RefusesField("open.dp_rank"));
  EXPECT_THAT(RefusalOfSeat([](v1::OpenGroup& open) { open.set_cp_rank(2); }),
              RefusesField("open.cp_rank"));
  EXPECT_THAT(RefusalOfSeat([](v1::OpenGroup& open) { open.clear_member(); }),
              RefusesField("open.member"));
  EXPECT_THAT(RefusalOfSeat([](v1::OpenGroup& open) { open.set_cp_size(3); }),
              GrpcStatusIs(StatusCode::FAILED_PRECONDITION, "GROUP_SIZE_DIFFERS",
                           "cp_size: 3 is not accepted; accepted: 2, the job's"));
  EXPECT_THAT(RefusalOfSeat([](v1::OpenGroup& open) { open.set_job("x"); }),
              GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("'x'")));
  EXPECT_THAT(Refusal({Seat(0, "a"), State("")}), RefusesField("state.address"));
  EXPECT_THAT(Refusal({Seat(0, "a"), State("h:1", 0, true)}),
              RefusesField("state.connected"));
  EXPECT_THAT(Refusal({Seat(0, "a"), State("h:1", uint64_t{1} << 63, false)}),
              RefusesField("state.epoch"));
}

TEST_F(GroupCallTest, AJobThatIsDeletedEndsItsGroups) {
  GroupClient a(server_, 0, "a");
  GroupClient b(server_, 1, "b");
  a.Read();
  b.Read();
  ASSERT_THAT(server_.Delete("job"), IsGrpcOk());
  for (GroupClient* client : {&a, &b}) {
    EXPECT_THAT(client->Finish(),
                GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND", HasSubstr("job")));
  }
}

TEST_F(GroupCallTest, WhoIsSentAwayIsToldWhy) {
  GroupClient a(server_, 0, "a");
  const auto woken = server_.jobs().Find("job").value()->groups().EndThoseThatWait(
      WithDetail(absl::UnavailableError("elsewhere"), {"STORE_FAILED", {}}));
  ASSERT_EQ(woken.size(), 1U);
  woken.front()->Wake();
  EXPECT_THAT(a.Finish(),
              GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED", "elsewhere"));
  server_.WaitUntilNoCalls();
}

TEST_F(GroupCallTest, ADrainEndsTheCall) {
  GroupClient a(server_, 0, "a");
  GroupClient b(server_, 1, "b");
  a.Read();
  server_.calls().groups.Drain();
  EXPECT_EQ(a.Finish().error_code(), StatusCode::UNAVAILABLE);
}

TEST(GroupCallLimitTest, AServerTakesSoManyMembers) {
  TestServer server(true, 2);
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  GroupClient a(server, 0, "a");
  GroupClient b(server, 1, "b");
  ASSERT_THAT(a.Read(), HasSubstr("connect"));
  GroupClient late(server);
  EXPECT_THAT(late.Finish(),
              GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_CALLS", _));
}

TEST(GroupCallLimitTest, APeerAndAJobHaveSoManyMembers) {
  for (const Quota quota : {Quota::kPeerGroupStreams, Quota::kJobGroupStreams}) {
    QuotaLimits limits = {};
    limits[static_cast<size_t>(quota)] = 2;
    TestServer server(true, 10, limits);
    ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
    {
      GroupClient a(server, 0, "a");
      GroupClient b(server, 1, "b");
      ASSERT_THAT(a.Read(), HasSubstr("connect"));
      GroupClient late(server);
      late.Write(Seat(0, "c"));
      EXPECT_THAT(late.Finish(),
                  GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                               HasSubstr(std::string(NameOf(quota).flag))));
    }
    server.WaitUntilNoCalls();
    EXPECT_EQ(server.quotas().held.size(), 0U);
  }
}

}  // namespace
}  // namespace evenpack
