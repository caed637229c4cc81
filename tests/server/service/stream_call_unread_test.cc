// Calls that were ended while their peer reads nothing, so that they stay open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/service/group_call.h"
#include "server/service/message_bytes.h"
#include "server/service/steps_call.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/stepped_call.h"

namespace evenpack {
namespace {

using testing::DoIngest;
using testing::IsOk;
using testing::RestingMark;
using testing::ServiceSpec;
using testing::SteppedCall;
using testing::SubscribeTo;
using testing::TestServer;

void Until(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

// What the handler does with it is done when this returns.
void Upload(SteppedCall& call, const google::protobuf::Message& request) {
  call.ClientWrite(MessageBytes(request));
  Until([&call] { return call.Upload(); });
}

class StreamCallUnreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Create("job", ServiceSpec()).ok());
    job_ = server_.jobs().Find("job").value();
    ASSERT_THAT(DoIngest(*job_, 0, std::vector<uint32_t>(24, 50)), IsOk());
  }

  TestServer server_;
  std::shared_ptr<Job> job_;
  RestingMark mark_;
};

TEST_F(StreamCallUnreadTest, AMarkOfAnEndedSubscriptionCountsForNothing) {
  SteppedCall call(mark_);
  call.Accept([this](const grpc::ServerContextBase& context) {
    return StartStepsCall(server_.environment(), context);
  });
  v1::StreamStepsRequest request;
  *request.mutable_subscribe() = SubscribeTo("job");
  request.mutable_subscribe()->set_sends_durable(true);
  Upload(call, request);
  // Its answer is being written.
  server_.calls().steps.Drain();
  request.mutable_durable()->set_step(0);
  call.ClientWrite(MessageBytes(request));
  EXPECT_TRUE(call.Upload());
  // What was asked for before is committed.
  EXPECT_THAT(DoIngest(*job_, 24, {50}), IsOk());
  EXPECT_EQ(job_->DurableStepsOf(0).value(), 0U);
  EXPECT_FALSE(call.Conclude());
  Until([&call] { return call.CompleteWrite(); });
  Until([&call] { return call.Conclude(); });
}

v1::JoinGroupRequest Seat(uint32_t cp_rank) {
  v1::JoinGroupRequest request;
  v1::OpenGroup& open = *request.mutable_open();
  open.set_job("job");
  open.set_dp_rank(1);
  open.set_cp_size(2);
  open.set_cp_rank(cp_rank);
  open.set_member(std::to_string(cp_rank));
  return request;
}

v1::JoinGroupRequest State(uint64_t epoch, bool connected) {
  v1::JoinGroupRequest request;
  request.mutable_state()->set_address("h");
  request.mutable_state()->set_epoch(epoch);
  request.mutable_state()->set_connected(connected);
  return request;
}

TEST_F(StreamCallUnreadTest, AnEndedMemberIsNotHeard) {
  SteppedCall call(mark_);
  call.Accept([this](const grpc::ServerContextBase& context) {
    return StartGroupCall(server_.environment(), context);
  });
  Upload(call, Seat(0));
  Upload(call, State(0, false));
  server_.calls().groups.Drain();
  call.ClientWrite(MessageBytes(State(1, false)));
  call.ClientWrite(MessageBytes(State(2, false)));
  EXPECT_TRUE(call.Upload());
  EXPECT_FALSE(call.Upload());
  EXPECT_FALSE(call.Conclude());
  Until([&call] { return call.CompleteWrite(); });
  Until([&call] { return call.Conclude(); });
}

}  // namespace
}  // namespace evenpack
