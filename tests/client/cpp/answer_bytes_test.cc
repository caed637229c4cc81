#include "client/cpp/answer_bytes.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "client/cpp/grpc_stub.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cpp/scripted_service.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScriptedServer;
using ::evenpack::testing::ScriptedService;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const CallOptions kPatient{std::chrono::minutes(5), {}};

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

TEST(AnswerBytesTest, ReadsAnAnswerOnce) {
  v1::ListJobsResponse sent;
  sent.set_next_page_token("t");
  grpc::ByteBuffer bytes = BufferOf(sent.SerializeAsString());
  v1::ListJobsResponse read;
  ASSERT_THAT(ReadAnswer("/a/B", bytes, read), IsOk());
  EXPECT_EQ(read.next_page_token(), "t");
  EXPECT_EQ(bytes.Length(), 0U);
}

TEST(AnswerBytesTest, RefusesWhatIsNoAnswerOrNothing) {
  v1::ListJobsResponse read;
  for (grpc::ByteBuffer bytes : {BufferOf("\xff"), grpc::ByteBuffer()}) {
    EXPECT_THAT(ReadAnswer("/a/B", bytes, read),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("/a/B: "),
                               HasSubstr("evenpack.v1.ListJobsResponse"))));
  }
}

// Calls of which a part of the answer can be read.
class PartlyReadableTest : public ::testing::Test {
 protected:
  ~PartlyReadableTest() override { server_.Stop(); }
  void Start() {
    server_.Start();
    ClientOptions options;
    options.address = server_.address();
    stub_ = MakeGrpcStub(MakeGrpcChannel(options));
  }
  // Names are UTF-8.
  static v1::StreamStepsResponse Unreadable() {
    v1::StreamStepsResponse response;
    response.mutable_subscribed()->mutable_spec()->add_streams()->set_name("\xff");
    return response;
  }

  ScriptedServer server_;
  ScriptedService& service_ = server_.service();
  std::shared_ptr<Stub> stub_;
};

TEST_F(PartlyReadableTest, AUnaryCallFailsAndIsNamed) {
  service_.list_jobs = [](const auto&, auto& response) {
    for (const char* name : {"a", "\xff", "b"}) response.add_jobs()->set_name(name);
    return grpc::Status::OK;
  };
  Start();
  EXPECT_THAT(stub_->ListJobs({}, kPatient),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("/evenpack.v1.PackingService/ListJobs")));
}

TEST_F(PartlyReadableTest, AStreamEndsWithAnErrorAtTheMessage) {
  service_.stream_steps = [](auto&, auto& call) {
    v1::StreamStepsResponse response;
    response.mutable_step()->set_index(3);
    call.Write(response);
    call.Write(Unreadable());
    call.Write(response);
    return grpc::Status::OK;
  };
  Start();
  const auto stream = stub_->StreamSteps({});
  v1::StreamStepsResponse response;
  EXPECT_TRUE(stream->Read(response));
  EXPECT_EQ(response.step().index(), 3U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(stream->Read(response));
    EXPECT_THAT(stream->Finish(),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("/evenpack.v1.PackingService/StreamSteps")));
  }
}

TEST_F(PartlyReadableTest, AStreamThatTheServerLeavesOpenIsCancelled) {
  std::promise<bool> cancelled;
  service_.stream_steps = [&cancelled](auto& context, auto& call) {
    call.Write(Unreadable());
    v1::StreamStepsRequest request;
    while (call.Read(&request)) {
    }
    cancelled.set_value(context.IsCancelled());
    return grpc::Status::OK;
  };
  Start();
  const auto stream = stub_->StreamSteps({});
  v1::StreamStepsResponse response;
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("")));
  EXPECT_TRUE(cancelled.get_future().get());
}

}  // namespace
}  // namespace evenpack::client
