#include "client/agent/plan_agent.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/agent/agent_address.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/unix_socket.h"
#include "tests/client/cpp/scripted_service.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

// With a server and ranks: tests/integration/agent_test.py, and the through_agent_
// tests.
namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::ScratchDirectory;
using evenpack::testing::ScriptedServer;
using evenpack::testing::ScriptedService;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

PlanAgentOptions WithoutAServer() {
  PlanAgentOptions options;
  options.server = "127.0.0.1:1";
  options.listen = "127.0.0.1:0";
  return options;
}

PlanAgentOptions Of(const ScriptedServer& server) {
  PlanAgentOptions options = WithoutAServer();
  options.server = server.address();
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

// A rank's call for the steps of a job, begun.
class RanksCall {
 public:
  RanksCall(v1::PackingService::Stub& stub, const std::string& job, uint32_t dp_rank) {
    constexpr std::chrono::seconds kLongest{30};
    context_.set_deadline(std::chrono::system_clock::now() + kLongest);
    stream_ = stub.StreamSteps(&context_);
    v1::StreamStepsRequest request;
    request.mutable_subscribe()->set_job(job);
    request.mutable_subscribe()->set_dp_rank(dp_rank);
    EXPECT_TRUE(stream_->Write(request));
  }
  bool IsSubscribed() {
    v1::StreamStepsResponse response;
    return stream_->Read(&response) && response.has_subscribed();
  }
  grpc::StatusCode Finish() { return stream_->Finish().error_code(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::StreamStepsRequest, v1::StreamStepsResponse>>
      stream_;
};

TEST(PlanAgentTest, AJobWithoutAnAnswerLeavesOthersTheirs) {
  ScriptedServer server;
  server.service().stream_steps = [](grpc::ServerContext&,
                                     ScriptedService::StepCall& call) {
    v1::StreamStepsRequest request;
    call.Read(&request);
    if (request.subscribe().job() != "hangs") {
      v1::StreamStepsResponse response;
      response.mutable_subscribed()->set_previous_digest(DigestBytes({}));
      call.Write(response);
    }
    while (call.Read(&request)) continue;
    return grpc::Status::OK;
  };
  server.Start();
  const auto agent = PlanAgent::Start(Of(server));
  ASSERT_THAT(agent, IsOk());
  const auto stub = v1::PackingService::NewStub(grpc::CreateChannel(
      (*agent)->grpc_address(), grpc::InsecureChannelCredentials()));
  constexpr uint32_t kRanks = 64;
  std::vector<std::unique_ptr<RanksCall>> waiting;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    waiting.push_back(std::make_unique<RanksCall>(*stub, "hangs", rank));
  }
  RanksCall served(*stub, "run-7", 0);
  EXPECT_TRUE(served.IsSubscribed());
  EXPECT_TRUE((*agent)->Drain());
  for (const auto& call : waiting) {
    EXPECT_EQ(call->Finish(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_EQ(served.Finish(), grpc::StatusCode::UNAVAILABLE);
}

TEST(PlanAgentTest, PassesOnWhatItsServerSendsHoweverLarge) {
  // More than a client takes by default.
  constexpr size_t kBytes = 65 << 20;
  ScriptedServer server;
  server.service().get_step = [](const v1::GetStepRequest&,
                                 v1::GetStepResponse& response) {
    response.mutable_step()->add_micro_batches()->mutable_documents()->set_token_ids(
        std::string(kBytes, '\0'));
    return grpc::Status::OK;
  };
  server.Start();
  const auto agent = PlanAgent::Start(Of(server));
  ASSERT_THAT(agent, IsOk());
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const auto stub = v1::PackingService::NewStub(grpc::CreateCustomChannel(
      (*agent)->grpc_address(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  v1::GetStepResponse response;
  const grpc::Status status = stub->GetStep(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.step().micro_batches(0).documents().token_ids().size(), kBytes);
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

TEST(PlanAgentTest, LeavesASocketToTheAgentThatServesThere) {
  const ScratchDirectory folder;
  const std::string path = folder.File("agent.sock");
  PlanAgentOptions options = WithoutAServer();
  options.listen = "unix:" + path;
  const auto agent = PlanAgent::Start(options);
  ASSERT_THAT(agent, IsOk());
  EXPECT_THAT(PlanAgent::Start(options),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("listen: can't listen on " + options.listen),
                             HasSubstr("a process listens at"))));
  EXPECT_THAT(ConnectTo(path), IsOk());
}

TEST(PlanAgentTest, TakesASocketThatAnAgentHasLeft) {
  const ScratchDirectory folder;
  const std::string path = folder.File("agent.sock");
  { ASSERT_THAT(ListenAt(path, 0600), IsOk()); }
  PlanAgentOptions options = WithoutAServer();
  options.listen = "unix:" + path;
  EXPECT_THAT(PlanAgent::Start(options), IsOk());
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
              StatusIs(absl::StatusCode::kUnavailable,
                       "listen: can't listen on " + taken.listen +
                           ": Address already in use; accepted: HOST:PORT of this "
                           "machine with a port that is free"));
  PlanAgentOptions unknown_host = WithoutAServer();
  unknown_host.insecure = true;
  unknown_host.listen = "no-such-host.invalid:0";
  EXPECT_THAT(PlanAgent::Start(unknown_host),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("a host that this machine knows")));
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
