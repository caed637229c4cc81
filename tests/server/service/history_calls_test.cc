#include "server/service/history_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;
using testing::DoIngest;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::StepsClient;
using testing::SubscribeTo;
using testing::TestServer;

class HistoryCallsTest : public ::testing::Test {
 protected:
  // "job" with 6 steps, of which the first 4 are durable and all are kept.
  void SetUp() override {
    v1::JobSpec spec = ServiceSpec();
    spec.mutable_retention()->set_checkpoints(10);
    ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
    ASSERT_THAT(
        DoIngest(*server_.jobs().Find("job").value(), 0, std::vector<uint32_t>(48, 50)),
        IsOk());
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(server_.Acknowledge("job", rank, 3), IsGrpcOk());
    }
  }
  grpc::Status Checkpoint(uint64_t step, v1::CheckpointJobResponse& response) {
    ClientContext context;
    v1::CheckpointJobRequest request;
    request.set_name("job");
    request.set_step(step);
    return server_.stub().CheckpointJob(&context, request, &response);
  }
  grpc::Status Rewind(const v1::RewindJobRequest& request, v1::Job* job = nullptr) {
    ClientContext context;
    v1::RewindJobResponse response;
    grpc::Status status = server_.stub().RewindJob(&context, request, &response);
    if (job != nullptr) *job = response.job();
    return status;
  }
  grpc::Status Fork(const std::string& as, uint64_t step, v1::Job* job = nullptr) {
    ClientContext context;
    v1::ForkJobRequest request;
    request.set_name("job");
    request.set_new_name(as);
    request.set_step(step);
    v1::ForkJobResponse response;
    grpc::Status status = server_.stub().ForkJob(&context, request, &response);
    if (job != nullptr) *job = response.job();
    return status;
  }
  grpc::Status Skip(const v1::SkipDocumentsRequest& request, v1::Job* job = nullptr) {
    ClientContext context;
    v1::SkipDocumentsResponse response;
    grpc::Status status = server_.stub().SkipDocuments(&context, request, &response);
    if (job != nullptr) *job = response.job();
    return status;
  }
  static v1::RewindJobRequest RewindTo(uint64_t from_step) {
    v1::RewindJobRequest request;
    request.set_name("job");
    request.set_from_step(from_step);
    return request;
  }
  template <typename Request>
  static void AddRange(uint64_t first, uint64_t documents, Request& request) {
    v1::DocumentRange& range = *request.add_skip();
    range.set_stream("a");
    range.set_first_sequence(first);
    range.set_documents(documents);
  }

  TestServer server_;
};

TEST_F(HistoryCallsTest, ARewindGoesBehindDurableStepsAndEndsSubscriptions) {
  StepsClient follower(server_, SubscribeTo("job"));
  follower.ReadSubscribed();
  const v1::Job before = server_.Get("job");
  v1::Job job;
  ASSERT_THAT(Rewind(RewindTo(2), &job), IsGrpcOk());
  EXPECT_EQ(job.epoch(), 1U);
  EXPECT_EQ(job.durable_steps(), 2U);
  EXPECT_EQ(job.next_step(), 6U) << "formed anew at once";
  EXPECT_EQ(job.digest(), before.digest());
  EXPECT_THAT(follower.Finish(),
              GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED", HasSubstr("1")));
  StepsClient again(server_, SubscribeTo("job"));
  EXPECT_EQ(again.ReadSubscribed().from_step(), 2U);
  EXPECT_EQ(again.ReadStep().epoch(), 1U);
}

TEST_F(HistoryCallsTest, ARewindTakesASpecAndASkip) {
  v1::RewindJobRequest request = RewindTo(1);
  *request.mutable_spec() = ServiceSpec();
  request.mutable_spec()->mutable_parallelism()->set_data(4);
  request.mutable_spec()->mutable_parallelism()->set_micro_batches_per_rank(1);
  AddRange(8, 8, request);
  AddRange(60, 4, request);
  v1::Job job;
  ASSERT_THAT(Rewind(request, &job), IsGrpcOk());
  EXPECT_EQ(job.spec().parallelism().data(), 4U);
  EXPECT_EQ(job.durable_steps_per_rank_size(), 4);
  EXPECT_EQ(job.next_step(), 5U);
  ASSERT_EQ(job.streams(0).skipped_size(), 2);
  EXPECT_EQ(job.streams(0).skipped(0).first_sequence(), 8U);
  EXPECT_EQ(job.streams(0).skipped(0).documents(), 8U);
}

TEST_F(HistoryCallsTest, RewindsThatAreRefused) {
  EXPECT_THAT(Rewind(RewindTo(7)),
              GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                           HasSubstr("accepted: 0 to 6")));
  v1::RewindJobRequest request = RewindTo(2);
  request.set_expected_epoch(3);
  EXPECT_THAT(Rewind(request),
              GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED", HasSubstr("")));
  request.clear_expected_epoch();
  *request.mutable_spec() = ServiceSpec();
  request.mutable_spec()->mutable_streams(0)->set_name("b");
  EXPECT_THAT(Rewind(request), RefusesField("spec.streams"));
  request.mutable_spec()->set_window(0);
  EXPECT_THAT(Rewind(request), RefusesField("spec.window"));
  request.clear_spec();
  AddRange(5, 0, request);
  EXPECT_THAT(Rewind(request), RefusesField("skip[0].documents"));
  request.clear_from_step();
  EXPECT_THAT(Rewind(request), RefusesField("target"));
  request.set_name("other");
  EXPECT_THAT(Rewind(request), GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND",
                                            HasSubstr("'other'")));
  EXPECT_EQ(server_.Get("job").epoch(), 0U);
}

TEST_F(HistoryCallsTest, ARewindToACheckpointHasItsSpec) {
  v1::CheckpointJobResponse checkpoint;
  ASSERT_THAT(Checkpoint(2, checkpoint), IsGrpcOk());
  v1::RewindJobRequest request;
  request.set_name("job");
  request.set_checkpoint(checkpoint.checkpoint());
  *request.mutable_spec() = ServiceSpec();
  EXPECT_THAT(Rewind(request), RefusesField("spec"));
  request.clear_spec();
  v1::Job job;
  ASSERT_THAT(Rewind(request, &job), IsGrpcOk());
  EXPECT_EQ(job.durable_steps(), 3U);
  EXPECT_EQ(job.streams(0).next_sequence(), 48U);
  request.set_checkpoint("none");
  EXPECT_THAT(Rewind(request),
              GrpcStatusIs(StatusCode::DATA_LOSS, "DATA_LOSS", HasSubstr("state")));
}

// What the job no longer keeps comes from the checkpoint, and the documents since then
// are asked for again.
TEST_F(HistoryCallsTest, ARewindBehindWhatIsKeptSaysFromWhereToSend) {
  v1::CheckpointJobResponse checkpoint;
  ASSERT_THAT(Checkpoint(4, checkpoint), IsGrpcOk());
  const auto held = server_.jobs().Find("job").value();
  ASSERT_THAT(DoIngest(*held, 48, std::vector<uint32_t>(8 * 20, 50)), IsOk());
  for (uint64_t step = 4; step < 20; ++step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(server_.Acknowledge("job", rank, step), IsGrpcOk());
    }
  }
  const std::string digest = server_.Get("job").digest();
  ASSERT_GT(server_.Get("job").oldest_step(), 5U);
  v1::RewindJobRequest request;
  request.set_name("job");
  request.set_checkpoint(checkpoint.checkpoint());
  v1::Job job;
  ASSERT_THAT(Rewind(request, &job), IsGrpcOk());
  EXPECT_EQ(job.epoch(), 1U);
  EXPECT_EQ(job.durable_steps(), 5U);
  EXPECT_EQ(job.streams(0).next_sequence(), 48U);
  StepsClient follower(server_, SubscribeTo("job"));
  EXPECT_EQ(follower.ReadSubscribed().previous_digest(), checkpoint.digest());
  EXPECT_EQ(follower.ReadStep().index(), 5U);
  ASSERT_THAT(DoIngest(*held, 48, std::vector<uint32_t>(8 * 20, 50)), IsOk());
  EXPECT_EQ(server_.Get("job").digest(), digest);
}

// What it was told is accepted is not any more.
TEST_F(HistoryCallsTest, ARewindBehindWhatIsKeptEndsProducersCalls) {
  v1::CheckpointJobResponse checkpoint;
  ASSERT_THAT(Checkpoint(4, checkpoint), IsGrpcOk());
  IngestClient producer(server_, "job");
  ASSERT_TRUE(producer.Send(48, std::vector<uint32_t>(8 * 20, 50)));
  producer.ReadUntil(208);
  for (uint64_t step = 4; step < 20; ++step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(server_.Acknowledge("job", rank, step), IsGrpcOk());
    }
  }
  v1::RewindJobRequest request;
  request.set_name("job");
  request.set_checkpoint(checkpoint.checkpoint());
  ASSERT_THAT(Rewind(request), IsGrpcOk());
  producer.Send(48, {50});
  EXPECT_FALSE(producer.Read().has_value());
  EXPECT_THAT(producer.Finish(),
              GrpcStatusIs(StatusCode::UNAVAILABLE, "UNAVAILABLE",
                           HasSubstr("'job' went back to a checkpoint")));
  IngestClient again(server_);
  ASSERT_TRUE(again.Open("job"));
  EXPECT_LE(again.Read()->next_sequence(), 49U);
}

TEST_F(HistoryCallsTest, AForkGoesItsOwnWay) {
  v1::Job fork;
  ASSERT_THAT(Fork("b", 2, &fork), IsGrpcOk());
  EXPECT_EQ(fork.name(), "b");
  EXPECT_EQ(fork.durable_steps(), 3U);
  EXPECT_EQ(fork.next_step(), 6U);
  EXPECT_EQ(fork.digest(), server_.Get("job").digest());
  v1::SkipDocumentsRequest skip;
  skip.set_name("b");
  skip.set_from_step(3);
  AddRange(24, 8, skip);
  ASSERT_THAT(Skip(skip), IsGrpcOk());
  EXPECT_EQ(server_.Get("b").next_step(), 5U);
  EXPECT_EQ(server_.Get("job").next_step(), 6U);

  EXPECT_THAT(Fork("b", 2), GrpcStatusIs(StatusCode::ALREADY_EXISTS, "JOB_EXISTS",
                                         HasSubstr("'b' is taken")));
  EXPECT_THAT(Fork("a b", 2), RefusesField("new_name"));
  EXPECT_THAT(Fork("c", 6), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                                         HasSubstr("step: 6")));
}

TEST_F(HistoryCallsTest, ASkipOfWhatOnlyComesDisturbsNobody) {
  StepsClient follower(server_, SubscribeTo("job"));
  EXPECT_EQ(follower.ReadSubscribed().from_step(), 4U);
  v1::SkipDocumentsRequest request;
  request.set_name("job");
  AddRange(48, 16, request);
  v1::Job job;
  ASSERT_THAT(Skip(request, &job), IsGrpcOk());
  EXPECT_EQ(job.epoch(), 0U);
  EXPECT_EQ(job.durable_steps(), 4U);
  ASSERT_THAT(
      DoIngest(*server_.jobs().Find("job").value(), 48, std::vector<uint32_t>(24, 50)),
      IsOk());
  EXPECT_EQ(follower.ReadStep().index(), 4U);
  EXPECT_EQ(follower.ReadStep().index(), 5U);
  const v1::Step step = follower.ReadStep();
  EXPECT_EQ(step.index(), 6U);
  EXPECT_EQ(step.epoch(), 0U);
  EXPECT_EQ(step.micro_batches(0).documents().sequence(0), 64U);
}

TEST_F(HistoryCallsTest, SkipsThatAreRefused) {
  v1::SkipDocumentsRequest request;
  request.set_name("job");
  EXPECT_THAT(Skip(request), RefusesField("skip"));
  AddRange(48, 1, request);
  request.set_from_step(3);
  EXPECT_THAT(Skip(request), GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                                          HasSubstr("accepted: 4 to 6")));
  request.set_from_step(4);
  request.set_expected_epoch(1);
  EXPECT_THAT(Skip(request),
              GrpcStatusIs(StatusCode::ABORTED, "EPOCH_ENDED", HasSubstr("")));
  request.clear_expected_epoch();
  request.mutable_skip(0)->set_stream("b");
  EXPECT_THAT(Skip(request), GrpcStatusIs(StatusCode::NOT_FOUND, "STREAM_NOT_FOUND",
                                          HasSubstr("stream: 'b'")));
  EXPECT_EQ(server_.Get("job").epoch(), 0U);
}

}  // namespace
}  // namespace evenpack
