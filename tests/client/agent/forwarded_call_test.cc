#include "client/agent/forwarded_call.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/agent/plan_agent.h"
#include "client/agent/status_relay.h"
#include "client/cpp/error_details.h"
#include "client/cpp/grpc_status.h"
#include "tests/client/cpp/scripted_service.h"
#include "tests/client/cpp/servers_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::kUnavailable;
using evenpack::testing::LedAt;
using evenpack::testing::ScriptedServer;
using evenpack::testing::ScriptedService;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;

// Two servers, of which the agent is told the first.
class ForwardedCallTest : public ::testing::Test {
 protected:
  void Start() {
    first_.Start();
    second_.Start();
    PlanAgentOptions options;
    options.server = first_.address();
    options.listen = "127.0.0.1:0";
    auto agent = PlanAgent::Start(options);
    ASSERT_THAT(agent, IsOk());
    agent_ = *std::move(agent);
    stub_ = v1::PackingService::NewStub(grpc::CreateChannel(
        agent_->grpc_address(), grpc::InsecureChannelCredentials()));
  }
  absl::Status GetJob(v1::GetJobResponse& response) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name("run");
    return client::FromGrpcStatus(stub_->GetJob(&context, request, &response));
  }
  // The calls that both were asked for so far are counted.
  void RedirectGetJob() {
    first_.service().get_job = [this](const auto&, auto&) {
      ++first_calls_;
      return Relayed(LedAt(second_.address()));
    };
    second_.service().get_job = [this](const auto& request, auto& response) {
      ++second_calls_;
      response.mutable_job()->set_name(request.name());
      return grpc::Status::OK;
    };
  }
  // A client is told to ask again, and of no server.
  static void ExpectHidden(const absl::Status& status) {
    EXPECT_THAT(status, StatusIs(kUnavailable, _));
    const client::ErrorDetails details = client::DetailsOf(status);
    EXPECT_EQ(details.reason, "NO_LEADER");
    EXPECT_THAT(details.metadata, ElementsAre(::testing::Pair("job", "run")));
    EXPECT_TRUE(details.retry_delay.has_value());
  }

  std::atomic<int> first_calls_ = 0;
  std::atomic<int> second_calls_ = 0;
  ScriptedServer first_;
  ScriptedServer second_;
  std::unique_ptr<PlanAgent> agent_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(ForwardedCallTest, FollowsARedirectAndRemembersIt) {
  RedirectGetJob();
  Start();
  for (int i = 0; i < 3; ++i) {
    v1::GetJobResponse response;
    EXPECT_THAT(GetJob(response), IsOk());
    EXPECT_EQ(response.job().name(), "run");
  }
  EXPECT_EQ(first_calls_, 1);
  EXPECT_EQ(second_calls_, 3);
}

TEST_F(ForwardedCallTest, AsksAGivenServerAgainWhenTheLeaderIsGone) {
  RedirectGetJob();
  Start();
  v1::GetJobResponse response;
  EXPECT_THAT(GetJob(response), IsOk());
  second_.Stop();
  // The first still names it.
  const absl::Status status = GetJob(response);
  EXPECT_THAT(status, StatusIs(kUnavailable, _));
  EXPECT_THAT(client::DetailsOf(status).metadata,
              ::testing::Not(::testing::Contains(::testing::Key("address"))));
  second_.Start();
  absl::Status again = GetJob(response);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!again.ok() && std::chrono::steady_clock::now() < until) {
    again = GetJob(response);
  }
  EXPECT_THAT(again, IsOk());
}

TEST_F(ForwardedCallTest, ServersThatNameEachOtherAreNotNamedToTheClient) {
  first_.service().get_job = [this](const auto&, auto&) {
    return Relayed(LedAt(second_.address()));
  };
  second_.service().get_job = [this](const auto&, auto&) {
    return Relayed(LedAt(first_.address()));
  };
  const auto redirect = [](ScriptedServer& other) {
    return [&other](auto&, ScriptedService::StepCall&) {
      return Relayed(LedAt(other.address()));
    };
  };
  first_.service().stream_steps = redirect(second_);
  second_.service().stream_steps = redirect(first_);
  Start();
  v1::GetJobResponse response;
  ExpectHidden(GetJob(response));
  grpc::ClientContext context;
  const auto stream = stub_->StreamSteps(&context);
  v1::StreamStepsRequest request;
  request.mutable_subscribe()->set_job("run");
  EXPECT_TRUE(stream->Write(request));
  ExpectHidden(client::FromGrpcStatus(stream->Finish()));
}

// Takes documents, and says so, until there are as many; then it says `end`.
auto TakeUntil(uint64_t documents, std::vector<uint64_t>& taken,
               std::function<grpc::Status()> end) {
  return [=, &taken](auto&, ScriptedService::IngestCall& call) {
    v1::IngestRequest request;
    v1::IngestResponse response;
    EXPECT_TRUE(call.Read(&request));
    EXPECT_EQ(request.open().job(), "run");
    response.set_next_sequence(taken.size());
    while (call.Write(response) && taken.size() < documents && call.Read(&request)) {
      taken.push_back(request.batch().first_sequence());
      response.set_next_sequence(request.batch().first_sequence() + 1);
    }
    return end();
  };
}

class ForwardedStreamTest : public ForwardedCallTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>;

  static void Open(Stream& stream) {
    v1::IngestRequest open;
    open.mutable_open()->set_job("run");
    EXPECT_TRUE(stream.Write(open));
  }
  static void SendDocument(Stream& stream, uint64_t sequence) {
    v1::IngestRequest batch;
    batch.mutable_batch()->set_first_sequence(sequence);
    EXPECT_TRUE(stream.Write(batch));
  }
  static void ExpectNext(Stream& stream, uint64_t sequence) {
    v1::IngestResponse response;
    EXPECT_TRUE(stream.Read(&response));
    EXPECT_EQ(response.next_sequence(), sequence);
  }

  std::vector<uint64_t> taken_first_;
  std::vector<uint64_t> taken_second_;
};

TEST_F(ForwardedStreamTest, SaysAgainToTheLeaderWhatTheClientSaid) {
  first_.service().ingest = [this](auto&, auto& call) {
    // Three messages, of which the client was told nothing.
    v1::IngestRequest request;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(call.Read(&request));
    return Relayed(LedAt(second_.address()));
  };
  second_.service().ingest =
      TakeUntil(3, taken_second_, [] { return grpc::Status::OK; });
  Start();
  grpc::ClientContext context;
  const auto stream = stub_->Ingest(&context);
  Open(*stream);
  for (const uint64_t sequence : {0U, 1U}) SendDocument(*stream, sequence);
  for (const uint64_t sequence : {0U, 1U, 2U}) ExpectNext(*stream, sequence);
  SendDocument(*stream, 2);
  ExpectNext(*stream, 3);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(taken_second_, ElementsAre(0, 1, 2));
}

TEST_F(ForwardedStreamTest, AStreamWhoseJobMovesEndsAndTheNextGoesThere) {
  first_.service().ingest =
      TakeUntil(2, taken_first_, [this] { return Relayed(LedAt(second_.address())); });
  second_.service().ingest =
      TakeUntil(1, taken_second_, [] { return grpc::Status::OK; });
  Start();
  grpc::ClientContext first;
  const auto moved = stub_->Ingest(&first);
  Open(*moved);
  for (const uint64_t sequence : {0U, 1U}) SendDocument(*moved, sequence);
  for (const uint64_t sequence : {0U, 1U, 2U}) ExpectNext(*moved, sequence);
  ExpectHidden(client::FromGrpcStatus(moved->Finish()));
  grpc::ClientContext second;
  const auto stream = stub_->Ingest(&second);
  Open(*stream);
  ExpectNext(*stream, 0);
  SendDocument(*stream, 2);
  ExpectNext(*stream, 3);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(taken_first_, ElementsAre(0, 1));
  EXPECT_THAT(taken_second_, ElementsAre(2));
}

TEST_F(ForwardedStreamTest, ACallWithoutAMessageAndOneThatIsCancelledEnd) {
  first_.service().ingest = [](auto&, auto& call) {
    v1::IngestRequest request;
    EXPECT_FALSE(call.Read(&request));
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no open");
  };
  Start();
  grpc::ClientContext empty;
  const auto nothing = stub_->Ingest(&empty);
  EXPECT_TRUE(nothing->WritesDone());
  EXPECT_EQ(nothing->Finish().error_message(), "no open");
  grpc::ClientContext cancelled;
  const auto stream = stub_->Ingest(&cancelled);
  cancelled.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardedCallTest, AListOfJobsNamesNoServer) {
  first_.service().list_jobs = [this](const auto&, auto& response) {
    response.add_jobs()->set_name("here");
    v1::JobPlace& place = *response.add_led_elsewhere();
    place.set_name("run");
    place.set_address(second_.address());
    return grpc::Status::OK;
  };
  RedirectGetJob();
  Start();
  grpc::ClientContext context;
  v1::ListJobsResponse listed;
  EXPECT_TRUE(stub_->ListJobs(&context, {}, &listed).ok());
  EXPECT_EQ(listed.jobs(0).name(), "here");
  ASSERT_EQ(listed.led_elsewhere_size(), 1);
  EXPECT_EQ(listed.led_elsewhere(0).name(), "run");
  EXPECT_EQ(listed.led_elsewhere(0).address(), "");
  // Which the agent has noted.
  v1::GetJobResponse response;
  EXPECT_THAT(GetJob(response), IsOk());
  EXPECT_EQ(first_calls_, 0);
}

}  // namespace
}  // namespace evenpack::agent
