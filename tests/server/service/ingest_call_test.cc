#include "server/service/ingest_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using testing::DetailIn;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::RefusesField;
using testing::ServiceSpec;
using testing::TestServer;

const std::vector<uint32_t> kStep(8, 50);

class IngestCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(server_.Create("job", ServiceSpec()), IsGrpcOk());
  }

  TestServer server_;
};

TEST_F(IngestCallTest, AnswersTheOpeningThenWhateverIsAccepted) {
  IngestClient client(server_);
  ASSERT_TRUE(client.Open("job"));
  const auto opened = client.Read().value();
  EXPECT_EQ(opened.next_sequence(), 0U);
  EXPECT_FALSE(opened.ended());
  ASSERT_TRUE(client.Send(0, kStep));
  client.ReadUntil(8);
  ASSERT_TRUE(client.Send(8, {10}));
  ASSERT_TRUE(client.Send(9, {20}));
  client.ReadUntil(10);
  ASSERT_TRUE(client.End(10));
  const auto ended = client.Read().value();
  EXPECT_EQ(ended.next_sequence(), 10U);
  EXPECT_TRUE(ended.ended());
  client.WritesDone();
  EXPECT_THAT(client.Finish(), IsGrpcOk());
  EXPECT_TRUE(server_.Get("job").drained());
}

// The server may have it before it is done with the opening.
TEST_F(IngestCallTest, ABatchMayComeRightBehindTheOpening) {
  for (uint64_t i = 0; i < 300; ++i) {
    IngestClient client(server_);
    ASSERT_TRUE(client.Open("job"));
    ASSERT_TRUE(client.Send(i, {10}));
    client.ReadUntil(i + 1);
  }
}

TEST_F(IngestCallTest, AnotherCallGoesOnAndMaySendAgain) {
  {
    IngestClient client(server_, "job");
    ASSERT_TRUE(client.Send(0, kStep));
    client.ReadUntil(8);
    client.WritesDone();
    EXPECT_THAT(client.Finish(), IsGrpcOk());
  }
  IngestClient client(server_);
  ASSERT_TRUE(client.Open("job"));
  EXPECT_EQ(client.Read()->next_sequence(), 8U);
  ASSERT_TRUE(client.Send(4, kStep));
  client.ReadUntil(12);
  ASSERT_TRUE(client.Send(0, {50}));
  EXPECT_EQ(client.Read()->next_sequence(), 12U) << "never falls";
}

TEST_F(IngestCallTest, ColumnsReachTheSteps) {
  IngestClient client(server_, "job");
  v1::IngestRequest request;
  v1::DocumentBatch& batch = *request.mutable_batch();
  for (uint32_t i = 0; i < 8; ++i) {
    batch.add_length(50);
    batch.add_id(100 + i);
    batch.add_loss_tokens(40 + i);
    batch.add_source(i);
  }
  ASSERT_TRUE(client.Write(request));
  client.ReadUntil(8);
  const auto step = server_.jobs().Find("job").value()->FindStep(0).value();
  const Document& last = step->step.micro_batches[3].documents[1];
  EXPECT_EQ(last.id, 107U);
  EXPECT_EQ(last.loss_tokens, 47U);
  EXPECT_EQ(last.source, 7U);
}

// A file that hangs would else hold a thread of the transport, and so all calls.
TEST_F(IngestCallTest, FilesAreReadByThreadsOfTheirOwn) {
  v1::JobSpec spec = ServiceSpec();
  spec.set_payload_mode(v1::PAYLOAD_MODE_BY_VALUE);
  ASSERT_THAT(server_.Create("by-value", spec), IsGrpcOk());
  std::promise<void> release;
  // Its own, since it may begin after all of this.
  server_.file_readers().Run(
      [released = release.get_future().share()] { released.wait(); });
  IngestClient client(server_, "by-value");
  v1::IngestRequest request;
  request.mutable_batch()->add_length(50);
  request.mutable_batch()->mutable_token_file()->set_path("/tokens");
  ASSERT_TRUE(client.Write(request));
  std::atomic<bool> released = false;
  std::thread finisher([&] {
    EXPECT_EQ(client.Finish().error_code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_TRUE(released);
  });
  for (int i = 0; i < 50; ++i) server_.Get("job");
  released = true;
  release.set_value();
  finisher.join();
}

TEST_F(IngestCallTest, ABatchWhoseFileIsReadEndsWithItsCall) {
  std::promise<void> release;
  // Its own, since it may begin after all of this.
  server_.file_readers().Run(
      [released = release.get_future().share()] { released.wait(); });
  {
    IngestClient client(server_, "job");
    v1::IngestRequest request;
    request.mutable_batch()->add_length(50);
    request.mutable_batch()->mutable_token_file()->set_path("/tokens");
    ASSERT_TRUE(client.Write(request));
    client.Cancel();
  }
  release.set_value();
  server_.WaitUntilNoCalls();
  EXPECT_EQ(server_.Get("job").streams(0).next_sequence(), 0U);
}

TEST_F(IngestCallTest, MessagesOutOfOrderAreRefused) {
  v1::IngestRequest open;
  open.mutable_open()->set_job("job");
  open.mutable_open()->set_stream("a");
  v1::IngestRequest end;
  end.mutable_end_of_stream();
  {
    IngestClient client(server_);
    client.Write(end);
    EXPECT_THAT(client.Finish(), RefusesField("message"));
  }
  {
    IngestClient client(server_);
    client.Write({});
    EXPECT_THAT(client.Finish(), RefusesField("message"));
  }
  {
    IngestClient client(server_);
    client.WritesDone();
    EXPECT_THAT(client.Finish(), RefusesField("message"));
  }
  {
    IngestClient client(server_, "job");
    client.Write(open);
    const grpc::Status status = client.Finish();
    EXPECT_THAT(status, RefusesField("message"));
    EXPECT_THAT(status.error_message(), HasSubstr("a second open"));
  }
  {
    IngestClient client(server_, "job");
    client.Write({});
    EXPECT_THAT(client.Finish(), RefusesField("message"));
  }
}

TEST_F(IngestCallTest, WhatThereIsNotIsNotFound) {
  IngestClient no_job(server_);
  ASSERT_TRUE(no_job.Open("other"));
  EXPECT_THAT(no_job.Finish(), GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND",
                                            HasSubstr("'other'")));
  IngestClient no_stream(server_);
  ASSERT_TRUE(no_stream.Open("job", "b"));
  EXPECT_THAT(no_stream.Finish(), GrpcStatusIs(StatusCode::NOT_FOUND,
                                               "STREAM_NOT_FOUND", HasSubstr("'b'")));
}

TEST_F(IngestCallTest, BatchesThatAreNotAcceptedEndTheCall) {
  {
    IngestClient client(server_, "job");
    ASSERT_TRUE(client.Send(0, {10, 20, 30}));
    client.ReadUntil(3);
  }
  using google::rpc::ErrorInfo;
  {
    IngestClient client(server_, "job");
    client.Send(5, {10});
    const grpc::Status gap = client.Finish();
    EXPECT_THAT(gap, GrpcStatusIs(StatusCode::OUT_OF_RANGE, "SEQUENCE_GAP",
                                  HasSubstr("up to 3, the next number expected")));
    EXPECT_EQ(DetailIn<ErrorInfo>(gap)->metadata().at("next_sequence"), "3");
  }
  {
    IngestClient client(server_, "job");
    client.Send(1, {21, 30});
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::ABORTED, "CONTENT_DIFFERS",
                                              HasSubstr("sequence 1")));
  }
  {
    IngestClient client(server_, "job");
    client.End(2);
    EXPECT_THAT(client.Finish(),
                GrpcStatusIs(StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE",
                             HasSubstr("documents: 2 is not how many")));
  }
  {
    IngestClient client(server_, "job");
    client.End(3);
    client.Send(3, {10});
    EXPECT_THAT(client.Finish(), GrpcStatusIs(StatusCode::FAILED_PRECONDITION,
                                              "STREAM_ENDED", HasSubstr("ended")));
  }
  EXPECT_EQ(server_.Get("job").streams(0).next_sequence(), 3U);
}

TEST_F(IngestCallTest, RefusedFieldsOfABatchAreNamed) {
  struct {
    std::function<void(v1::DocumentBatch&)> damage;
    std::string field;
  } const cases[] = {
      {[](auto& b) { b.clear_length(); }, "batch.length"},
      {[](auto& b) { b.set_length(1, 0); }, "batch.length[1]"},
      {[](auto& b) { b.set_length(0, 151); }, "batch.length[0]"},
      {[](auto& b) { b.add_id(1); }, "batch.id"},
      {[](auto& b) { b.add_loss_tokens(1); }, "batch.loss_tokens"},
      {[](auto& b) {
         b.add_loss_tokens(1);
         b.add_loss_tokens(21);
       },
       "batch.loss_tokens[1]"},
      {[](auto& b) { b.add_source(1); }, "batch.source"},
      {[](auto& b) { b.set_first_sequence(~uint64_t{0}); }, "batch.first_sequence"},
  };
  for (const auto& refused : cases) {
    v1::IngestRequest request;
    request.mutable_batch()->add_length(10);
    request.mutable_batch()->add_length(20);
    refused.damage(*request.mutable_batch());
    IngestClient client(server_, "job");
    client.Write(request);
    EXPECT_THAT(client.Finish(), RefusesField(refused.field));
  }
  v1::IngestRequest by_value;
  by_value.mutable_batch()->add_length(1);
  by_value.mutable_batch()->set_token_ids("1234");
  IngestClient client(server_, "job");
  client.Write(by_value);
  EXPECT_THAT(client.Finish(), RefusesField("batch.token_ids"));
}

TEST_F(IngestCallTest, WhatWasAcceptedBeforeAnErrorIsToldAndStays) {
  IngestClient client(server_, "job");
  ASSERT_TRUE(client.Send(0, {10, 20}));
  client.Send(7, {30});
  client.ReadUntil(2);
  EXPECT_EQ(client.Finish().error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(server_.Get("job").streams(0).next_sequence(), 2U);
}

TEST_F(IngestCallTest, WhatIsNotStoredIsUnavailableAndCanBeSentAgain) {
  IngestClient client(server_, "job");
  server_.room().store().FailCommits(2);
  client.Send(0, kStep);
  const grpc::Status status = client.Finish();
  EXPECT_THAT(status, GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED",
                                   HasSubstr("the disk is full")));
  EXPECT_TRUE(DetailIn<google::rpc::RetryInfo>(status).has_value());
  IngestClient again(server_, "job");
  ASSERT_TRUE(again.Send(0, kStep));
  again.ReadUntil(8);
}

// Batches that are read while the one before them fails to be stored leave a gap, which
// is none of the client's making.
TEST_F(IngestCallTest, AFailureOfTheStoreIsToldAndNotTheGapThatItLeaves) {
  for (int round = 0; round < 100; ++round) {
    IngestClient client(server_, "job");
    server_.room().store().Block();
    std::thread writer([&client] {
      for (uint64_t i = 0; i < 64; ++i) client.Send(i, {1});
    });
    server_.room().store().WaitUntilBlocked();
    server_.room().store().FailCommits(2);
    server_.room().store().Release();
    writer.join();
    ASSERT_THAT(client.Finish(), GrpcStatusIs(StatusCode::UNAVAILABLE, "STORE_FAILED",
                                              HasSubstr("full")))
        << round;
  }
}

TEST_F(IngestCallTest, AnswersComeAfterTheCommit) {
  IngestClient client(server_, "job");
  server_.room().store().Block();
  ASSERT_TRUE(client.Send(0, kStep));
  server_.room().store().WaitUntilBlocked();
  std::atomic<bool> released = false;
  std::thread reader([&] {
    client.ReadUntil(8);
    EXPECT_TRUE(released);
  });
  // Time for an answer that comes too early.
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(server_.Delete("other").ok());
  released = true;
  server_.room().store().Release();
  reader.join();
}

TEST_F(IngestCallTest, OneAnswerDoesForBatchesThatAreCommittedOneAfterAnother) {
  constexpr uint64_t kBatches = 10;
  const auto job = server_.jobs().Find("job").value();
  IngestClient client(server_, "job");
  server_.room().store().Block();
  for (uint64_t i = 0; i < kBatches; ++i) ASSERT_TRUE(client.Send(i, {1}));
  while (job->Figures().streams[0].buffered_documents < kBatches) {
    std::this_thread::yield();
  }
  server_.room().store().Release();
  EXPECT_EQ(client.Read()->next_sequence(), kBatches);
}

TEST_F(IngestCallTest, NoMoreIsReadWhileManyBatchesAreNotCommitted) {
  constexpr uint64_t kBatches = 200;
  constexpr uint64_t kMostUncommitted = 64;
  const auto job = server_.jobs().Find("job").value();
  IngestClient client(server_, "job");
  server_.room().store().Block();
  std::thread writer([&client] {
    for (uint64_t i = 0; i < kBatches; ++i) EXPECT_TRUE(client.Send(i, {1}));
  });
  const auto decided = [&job] { return job->Figures().streams[0].buffered_documents; };
  while (decided() < kMostUncommitted) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(server_.Delete("other").ok());
  EXPECT_EQ(decided(), kMostUncommitted);
  server_.room().store().Release();
  client.ReadUntil(kBatches);
  writer.join();
}

TEST_F(IngestCallTest, ADrainEndsACallOnceWhatItBeganIsCommitted) {
  IngestClient client(server_, "job");
  server_.room().store().Block();
  ASSERT_TRUE(client.Send(0, kStep));
  server_.room().store().WaitUntilBlocked();
  server_.calls().ingest.Drain();
  EXPECT_EQ(server_.calls().ingest.size(), 1U);
  server_.room().store().Release();
  client.ReadUntil(8);
  const grpc::Status status = client.Finish();
  EXPECT_THAT(status, GrpcStatusIs(StatusCode::UNAVAILABLE, "DRAINING",
                                   HasSubstr("shutting down")));
  EXPECT_TRUE(DetailIn<google::rpc::RetryInfo>(status).has_value());
  server_.WaitUntilNoCalls();
  // And one that comes later at once.
  IngestClient late(server_);
  late.Open("job");
  EXPECT_EQ(late.Finish().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(IngestCallTest, ACancelledCallLeavesWhatItSentAndNothingElse) {
  {
    IngestClient client(server_, "job");
    ASSERT_TRUE(client.Send(0, kStep));
    client.ReadUntil(8);
    EXPECT_EQ(server_.jobs().Find("job").value()->Figures().producers, 1U);
    client.Cancel();
    EXPECT_EQ(client.Finish().error_code(), StatusCode::CANCELLED);
  }
  server_.WaitUntilNoCalls();
  EXPECT_EQ(server_.jobs().Find("job").value()->Figures().producers, 0U);
  EXPECT_EQ(server_.Get("job").streams(0).next_sequence(), 8U);
}

TEST(IngestCallLimitTest, ThereAreAsManyCallsAsTheServerHolds) {
  TestServer server(/*commit_waits=*/true, /*max_calls=*/2);
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  {
    const IngestClient first(server, "job");
    const IngestClient second(server, "job");
    IngestClient one_more(server);
    one_more.Open("job");
    const grpc::Status full = one_more.Finish();
    EXPECT_THAT(full, GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "TOO_MANY_CALLS",
                                   HasSubstr("there are 2")));
    EXPECT_EQ(DetailIn<google::rpc::QuotaFailure>(full)->violations(0).subject(),
              "calls");
  }
  server.WaitUntilNoCalls();
  EXPECT_TRUE(IngestClient(server, "job").Send(0, kStep));
}

TEST(IngestCallLimitTest, APeerAndAJobHaveSoManyProducers) {
  for (const Quota quota : {Quota::kPeerIngestStreams, Quota::kJobIngestStreams}) {
    QuotaLimits limits = {};
    limits[static_cast<size_t>(quota)] = 2;
    TestServer server(true, 10, limits);
    ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
    {
      const IngestClient first(server, "job");
      const IngestClient second(server, "job");
      IngestClient one_more(server);
      one_more.Open("job");
      EXPECT_THAT(one_more.Finish(),
                  GrpcStatusIs(StatusCode::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED",
                               HasSubstr(std::string(NameOf(quota).flag))));
    }
    server.WaitUntilNoCalls();
    EXPECT_EQ(server.quotas().held.size(), 0U);
    EXPECT_TRUE(IngestClient(server, "job").Send(0, kStep));
  }
}

TEST_F(IngestCallTest, ProducersOfOneStreamMaySendTheSameAtOnce) {
  std::vector<std::thread> producers;
  for (int t = 0; t < 3; ++t) {
    producers.emplace_back([this] {
      IngestClient client(server_, "job");
      for (uint64_t i = 0; i < 50; ++i) client.Send(8 * i, kStep);
      client.WritesDone();
      EXPECT_THAT(client.Finish(), IsGrpcOk());
    });
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(server_.Get("job").streams(0).next_sequence(), 400U);
  EXPECT_EQ(server_.Get("job").next_step(), 50U);
}

}  // namespace
}  // namespace evenpack
