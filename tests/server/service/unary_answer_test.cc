#include "server/service/unary_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IsGrpcOk;
using testing::ServiceSpec;
using testing::TestServer;

QuotaLimits LimitOf(Quota quota, uint64_t limit) {
  QuotaLimits limits = {};
  limits[static_cast<size_t>(quota)] = limit;
  return limits;
}

grpc::Status List(TestServer& server) {
  grpc::ClientContext context;
  v1::ListJobsResponse response;
  return server.stub().ListJobs(&context, v1::ListJobsRequest(), &response);
}

TEST(UnaryAnswerTest, APeerHasSoManyCallsUnderWay) {
  TestServer server(true, 10, LimitOf(Quota::kPeerCalls, 1));
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  server.room().store().Block();
  auto waiting = std::async(
      std::launch::async, [&server] { return server.Create("other", ServiceSpec()); });
  server.room().store().WaitUntilBlocked();
  const grpc::Status refused = List(server);
  EXPECT_THAT(refused, GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                                    HasSubstr("max-peer-calls: peer unknown has 1")));
  const auto info = testing::DetailIn<google::rpc::ErrorInfo>(refused);
  EXPECT_EQ(info->metadata().at("quota"), "max-peer-calls");
  EXPECT_EQ(info->metadata().at("limit"), "1");
  EXPECT_EQ(info->metadata().at("peer"), "unknown");
  EXPECT_EQ(
      testing::DetailIn<google::rpc::QuotaFailure>(refused)->violations(0).subject(),
      "max-peer-calls");
  server.room().store().Release();
  EXPECT_THAT(waiting.get(), IsGrpcOk());
  // A place is free before its call is answered, also where that is an error.
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(List(server), IsGrpcOk());
    ASSERT_EQ(server.Create("job", ServiceSpec()).error_code(),
              StatusCode::ALREADY_EXISTS);
  }
  EXPECT_EQ(server.quotas().held.size(), 0U);
  EXPECT_EQ(server.errors().Figures()[StatusCode::RESOURCE_EXHAUSTED], 1U);
}

// A call whose answer is left with the server.
class UntakenList {
 public:
  explicit UntakenList(TestServer& server)
      : reader_(server.stub().PrepareAsyncListJobs(&context_, v1::ListJobsRequest(),
                                                   &queue_)) {
    reader_->StartCall();
    reader_->ReadInitialMetadata(nullptr);
    Next();
  }
  ~UntakenList() {
    context_.TryCancel();
    if (!taken_) Take();
    queue_.Shutdown();
  }

  grpc::Status Take() {
    taken_ = true;
    reader_->Finish(&response_, &status_, nullptr);
    Next();
    return status_;
  }

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  v1::ListJobsResponse response_;
  grpc::Status status_;
  bool taken_ = false;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ListJobsResponse>> reader_;
};

TEST(UnaryAnswerTest, AnswersThatAPeerDoesNotTakeCountAsItsCalls) {
  TestServer server(true, 10, LimitOf(Quota::kPeerCalls, 1));
  std::vector<std::unique_ptr<UntakenList>> untaken;
  for (uint64_t i = 0; i < kLeastUntakenAnswers; ++i) {
    untaken.push_back(std::make_unique<UntakenList>(server));
  }
  EXPECT_THAT(List(server),
              GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                           HasSubstr("peer unknown has 256 calls' answers")));
  EXPECT_THAT(untaken.front()->Take(), IsGrpcOk());
  // The server knows a moment later.
  grpc::Status listed = List(server);
  while (listed.error_code() == StatusCode::RESOURCE_EXHAUSTED) listed = List(server);
  EXPECT_THAT(listed, IsGrpcOk());
  // So it does of those that were given up.
  untaken.clear();
  while (server.quotas().answers.size() > 0) std::this_thread::yield();
}

TEST(UnaryAnswerTest, APeerMakesSoManyJobsByWhateverCall) {
  TestServer server(true, 10, LimitOf(Quota::kPeerJobs, 1));
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  const auto refused = GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                                    HasSubstr("max-peer-jobs: peer unknown has 1"));
  EXPECT_THAT(server.Create("other", ServiceSpec()), refused);
  {
    grpc::ClientContext context;
    v1::ForkJobRequest request;
    request.set_name("job");
    request.set_new_name("fork");
    v1::ForkJobResponse response;
    EXPECT_THAT(server.stub().ForkJob(&context, request, &response), refused);
  }
  {
    grpc::ClientContext context;
    v1::RestoreJobRequest request;
    request.set_name("restored");
    v1::RestoreJobResponse response;
    EXPECT_THAT(server.stub().RestoreJob(&context, request, &response), refused);
  }
  ASSERT_THAT(server.Delete("job"), IsGrpcOk());
  EXPECT_THAT(server.Create("other", ServiceSpec()), IsGrpcOk());
}

}  // namespace
}  // namespace evenpack
