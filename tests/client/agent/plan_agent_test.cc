#include "client/agent/plan_agent.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "client/agent/agent_address.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

// With a server and ranks: tests/integration/agent_test.py, and the through_agent_
// tests.
namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

PlanAgentOptions WithoutAServer() {
  PlanAgentOptions options;
  options.server = "127.0.0.1:1";
  options.listen = "127.0.0.1:0";
  return options;
}

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(PlanAgentTest, ServesWithoutAServerAndSaysThatThereIsNone) {
  PlanAgentOptions options = WithoutAServer();
  options.http_listen = "127.0.0.1:0";
  const auto agent = PlanAgent::Start(options);
  ASSERT_THAT(agent, IsOk());
  EXPECT_THAT((*agent)->grpc_address(), MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  EXPECT_THAT((*agent)->http_address(), MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  const auto stub = v1::PackingService::NewStub(grpc::CreateChannel(
      (*agent)->grpc_address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::GetJobResponse response;
  EXPECT_EQ(stub->GetJob(&context, {}, &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext streaming;
  const auto stream = stub->StreamSteps(&streaming);
  v1::StreamStepsRequest request;
  request.mutable_subscribe()->set_job("run-7");
  EXPECT_TRUE(stream->Write(request));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE((*agent)->Drain());
}

TEST(PlanAgentTest, ServesAtASocketToo) {
  PlanAgentOptions options = WithoutAServer();
  options.listen = "unix:" + ::testing::TempDir() + "plan_agent_test.sock";
  const auto agent = PlanAgent::Start(options);
  ASSERT_THAT(agent, IsOk());
  EXPECT_EQ((*agent)->grpc_address(), options.listen);
  EXPECT_EQ(ModeOf(SocketPath(options.listen)), 0660);
  EXPECT_EQ((*agent)->http_address(), "");
}

TEST(PlanAgentTest, IsForWhoeverReachesItWhereItIsToldSo) {
  PlanAgentOptions options = WithoutAServer();
  options.listen = "0.0.0.0:0";
  EXPECT_EQ(RefusedField(PlanAgent::Start(options).status()), "listen");
  options.insecure = true;
  EXPECT_THAT(PlanAgent::Start(options), IsOk());
  options.listen = "unix:" + ::testing::TempDir() + "plan_agent_test_open.sock";
  const auto agent = PlanAgent::Start(options);
  ASSERT_THAT(agent, IsOk());
  EXPECT_EQ(ModeOf(SocketPath(options.listen)), 0666);
}

TEST(PlanAgentTest, ChecksHowItIsToReachTheServer) {
  PlanAgentOptions options = WithoutAServer();
  options.security.ca_file = "/none";
  EXPECT_EQ(RefusedField(PlanAgent::Start(options).status()), "security.ca_file");
  options.security = {.server_name = "packer"};
  EXPECT_EQ(RefusedField(PlanAgent::Start(options).status()), "security.server_name");
}

TEST(PlanAgentTest, AddressesThatCannotBeHadAreNamedByTheirFlags) {
  const auto first = PlanAgent::Start(WithoutAServer());
  ASSERT_THAT(first, IsOk());
  PlanAgentOptions taken = WithoutAServer();
  taken.listen = (*first)->grpc_address();
  EXPECT_THAT(PlanAgent::Start(taken),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(taken.listen)));
  for (const char* const server : {"", "a:1,", "a:1,a:1"}) {
    PlanAgentOptions unknown = WithoutAServer();
    unknown.server = server;
    EXPECT_EQ(RefusedField(PlanAgent::Start(unknown).status()), "server");
  }
  PlanAgentOptions wrong = WithoutAServer();
  wrong.http_listen = "nowhere";
  EXPECT_EQ(RefusedField(PlanAgent::Start(wrong).status()), "http-listen");
}

}  // namespace
}  // namespace evenpack::agent
