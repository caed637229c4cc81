#include "client/cli/online/creditless_stub.h"

#include <gmock/gmock.h>

#include <memory>

#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/fake_stub.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::FakeStub;
using ::evenpack::testing::StatusIs;

TEST(CreditlessStubTest, LeavesOutReceivedAndNothingElse) {
  const auto fake = std::make_shared<FakeStub>();
  const auto stub = WithoutReceived(fake);
  const auto stream = stub->StreamSteps(std::stop_token());
  const auto call = fake->AwaitStepCall();
  v1::StreamStepsRequest subscribe;
  subscribe.mutable_subscribe()->set_job("run-7");
  v1::StreamStepsRequest received;
  received.mutable_received()->set_step(3);
  v1::StreamStepsRequest durable;
  durable.mutable_durable()->set_step(4);
  for (const auto* message : {&subscribe, &received, &durable}) stream->Write(*message);
  EXPECT_EQ(call->AwaitMessage().subscribe().job(), "run-7");
  EXPECT_EQ(call->AwaitMessage().durable().step(), 4U);
  EXPECT_EQ(call->messages(), 0U);
  v1::StreamStepsResponse sent;
  sent.mutable_drained()->set_steps(5);
  call->Send(sent);
  call->End(absl::AbortedError("over"));
  v1::StreamStepsResponse read;
  EXPECT_TRUE(stream->Read(read));
  EXPECT_EQ(read.drained().steps(), 5U);
  EXPECT_FALSE(stream->Read(read));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kAborted, "over"));
}

}  // namespace
}  // namespace evenpack
