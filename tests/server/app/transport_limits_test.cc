#include "server/app/transport_limits.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/app/packing_server.h"
#include "tests/server/app/served_job.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;

// A server whose messages have at most 1,024 bytes.
class TransportLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.http_listen = "";
    options.max_message_bytes = 1024;
    absl::StatusOr<std::unique_ptr<PackingServer>> server =
        PackingServer::Start(options);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = testing::StubAt(server_->grpc_address());
  }
  grpc::Status Create(const std::string& name) {
    return testing::CreateJobAt(*stub_, name);
  }

  std::unique_ptr<PackingServer> server_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(TransportLimitsTest, ALargerRequestIsRefused) {
  const grpc::Status large = Create(std::string(1100, 'x'));
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(), HasSubstr("larger than max"));
}

TEST_F(TransportLimitsTest, AnAnswerAboveTheLimitIsRefusedByTheNameOfTheFlag) {
  // Each request is below the limit, and the list of them is not.
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Create("job-" + std::to_string(i)).ok());
  grpc::ClientContext context;
  v1::ListJobsResponse response;
  const grpc::Status large =
      stub_->ListJobs(&context, v1::ListJobsRequest(), &response);
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(),
              AllOf(HasSubstr("answer: a ListJobsResponse of "),
                    HasSubstr("accepted: at most 1024, the server's "
                              "--max-message-bytes")));
}

TEST_F(TransportLimitsTest, AStepAboveTheLimitIsRefusedByTheNameOfTheFlag) {
  ASSERT_TRUE(Create("job").ok());
  grpc::ClientContext ingest_context;
  const auto ingest = stub_->Ingest(&ingest_context);
  v1::IngestRequest request;
  request.mutable_open()->set_job("job");
  request.mutable_open()->set_stream("a");
  v1::IngestResponse accepted;
  ASSERT_TRUE(ingest->Write(request) && ingest->Read(&accepted));
  // Documents of one token: many to a step.
  for (uint64_t sent = 0; sent < 600; sent += 100) {
    v1::DocumentBatch& batch = *request.mutable_batch();
    batch.Clear();
    batch.set_first_sequence(sent);
    for (int i = 0; i < 100; ++i) batch.add_length(1);
    ASSERT_TRUE(ingest->Write(request) && ingest->Read(&accepted));
  }
  grpc::ClientContext context;
  const auto steps = stub_->StreamSteps(&context);
  v1::StreamStepsRequest subscribe;
  subscribe.mutable_subscribe()->set_job("job");
  subscribe.mutable_subscribe()->set_credits(1);
  ASSERT_TRUE(steps->Write(subscribe));
  v1::StreamStepsResponse response;
  while (steps->Read(&response)) {
  }
  const grpc::Status large = steps->Finish();
  EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(large.error_message(),
              AllOf(HasSubstr("answer: a StreamStepsResponse of "),
                    HasSubstr("--max-message-bytes")));
}

TEST_F(TransportLimitsTest, AddressesAboveTheLimitAreRefusedByTheNameOfTheFlag) {
  ASSERT_TRUE(Create("job").ok());
  using Member = std::unique_ptr<
      grpc::ClientReaderWriter<v1::JoinGroupRequest, v1::JoinGroupResponse>>;
  grpc::ClientContext contexts[2];
  Member members[2];
  for (uint32_t rank : {0U, 1U}) {
    members[rank] = stub_->JoinGroup(&contexts[rank]);
    v1::JoinGroupRequest request;
    request.mutable_open()->set_job("job");
    request.mutable_open()->set_cp_size(2);
    request.mutable_open()->set_cp_rank(rank);
    request.mutable_open()->set_member(std::to_string(rank));
    ASSERT_TRUE(members[rank]->Write(request));
    // Each fits, and both together do not.
    request.mutable_state()->set_address(std::string(600, 'h'));
    ASSERT_TRUE(members[rank]->Write(request));
  }
  for (const Member& member : members) {
    v1::JoinGroupResponse response;
    while (member->Read(&response)) {
    }
    const grpc::Status large = member->Finish();
    EXPECT_EQ(large.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(large.error_message(),
                AllOf(HasSubstr("answer: a JoinGroupResponse of "),
                      HasSubstr("--max-message-bytes")));
  }
}

}  // namespace
}  // namespace evenpack
