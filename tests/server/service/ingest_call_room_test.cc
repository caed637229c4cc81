// Calls of Ingest whose stream is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/service/ingest_call.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using testing::GrpcStatusIs;
using ::testing::HasSubstr;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::ServiceSpec;
using testing::TestServer;

const std::vector<uint32_t> kStepOfFull(8, 50);

// The job decides one step until that is durable, and its stream holds the documents of
// one.
class IngestCallRoomTest : public ::testing::Test {
 protected:
  void SetUp() override {
    v1::JobSpec spec = ServiceSpec();
    spec.mutable_retention()->set_max_steps_ahead(1);
    spec.mutable_buffer_limits()->set_max_tokens(400);
    ASSERT_THAT(server_.Create("full", spec), IsGrpcOk());
  }

  // Of all that the stream has accepted, whatever else the server does meanwhile.
  void ExpectStaysAt(uint64_t next_sequence) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(server_.Get("full").streams(0).next_sequence(), next_sequence);
    }
  }
  void MakeDurable(uint64_t step) {
    for (const uint32_t rank : {0U, 1U}) {
      ASSERT_THAT(server_.Acknowledge("full", rank, step), IsGrpcOk());
    }
  }

  TestServer server_;
};

TEST_F(IngestCallRoomTest, AFullStreamIsNotReadFromUntilAStepTookSome) {
  IngestClient client(server_, "full");
  std::atomic<uint64_t> written = 0;
  std::thread writer([&] {
    for (uint64_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(client.Send(8 * i, kStepOfFull));
      ++written;
    }
  });
  for (uint64_t step = 0; step < 8; ++step) {
    client.ReadUntil(8 * (step + 2));
    ExpectStaysAt(8 * (step + 2));
    EXPECT_EQ(server_.Get("full").streams(0).buffered_tokens(), 400U);
    EXPECT_LE(written, step + 4) << "the transport holds little";
    MakeDurable(step);
  }
  client.ReadUntil(80);
  writer.join();
}

// Of calls that had room when they began to read. One is next; what the others send has
// come then.
TEST_F(IngestCallRoomTest, ABatchWaitsWhereOthersHaveFilledTheStreamMeanwhile) {
  std::vector<std::unique_ptr<IngestClient>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(std::make_unique<IngestClient>(server_, "full"));
  }
  ASSERT_TRUE(calls[0]->Send(0, std::vector<uint32_t>(16, 50)));
  calls[0]->ReadUntil(16);
  // One that the server doesn't read yet may be held by the transport.
  std::vector<std::jthread> senders;
  for (size_t i = 1; i < 5; ++i) {
    senders.emplace_back([&calls, i] { EXPECT_TRUE(calls[i]->Send(16, kStepOfFull)); });
  }
  ExpectStaysAt(16);
  MakeDurable(0);
  while (server_.Get("full").streams(0).next_sequence() < 24) std::this_thread::yield();
  EXPECT_EQ(server_.Get("full").streams(0).buffered_tokens(), 400U);
  MakeDurable(1);
  for (size_t i = 1; i < 5; ++i) calls[i]->ReadUntil(24);
}

TEST_F(IngestCallRoomTest, TheEndOfAStreamTakesNoRoom) {
  IngestClient first(server_, "full");
  IngestClient last(server_, "full");
  ASSERT_TRUE(first.Send(0, std::vector<uint32_t>(16, 50)));
  first.ReadUntil(16);
  const std::jthread ending([&last] { last.End(16); });
  // It is read with what makes room, or before.
  MakeDurable(0);
  EXPECT_TRUE(last.Read().value().ended());
}

TEST_F(IngestCallRoomTest, ADrainEndsACallThatWaitsForRoom) {
  IngestClient client(server_, "full");
  ASSERT_TRUE(client.Send(0, std::vector<uint32_t>(16, 50)));
  client.ReadUntil(16);
  server_.calls().ingest.Drain();
  EXPECT_EQ(client.Finish().error_code(), StatusCode::UNAVAILABLE);
  server_.WaitUntilNoCalls();
}

TEST_F(IngestCallRoomTest,
       DeletingTheJobEndsItsCallsAlsoIdleOnesAndThoseThatWaitForRoom) {
  IngestClient idle(server_, "full");
  IngestClient waiting(server_, "full");
  ASSERT_TRUE(waiting.Send(0, std::vector<uint32_t>(16, 50)));
  waiting.ReadUntil(16);
  ASSERT_THAT(server_.Delete("full"), IsGrpcOk());
  for (IngestClient* client : {&idle, &waiting}) {
    EXPECT_THAT(client->Finish(), GrpcStatusIs(StatusCode::NOT_FOUND, "JOB_NOT_FOUND",
                                               HasSubstr("'full'")));
  }
}

TEST_F(IngestCallRoomTest, ACallWhoseBatchWaitsEnds) {
  IngestClient first(server_, "full");
  IngestClient drained(server_, "full");
  IngestClient cancelled(server_, "full");
  ASSERT_TRUE(first.Send(0, std::vector<uint32_t>(16, 50)));
  first.ReadUntil(16);
  {
    const std::jthread draining([&] { drained.Send(16, kStepOfFull); });
    const std::jthread cancelling([&] { cancelled.Send(16, kStepOfFull); });
    ExpectStaysAt(16);
    cancelled.Cancel();
    server_.calls().ingest.Drain();
  }
  EXPECT_EQ(drained.Finish().error_code(), StatusCode::UNAVAILABLE);
  server_.WaitUntilNoCalls();
  MakeDurable(0);
  ExpectStaysAt(16);
}

}  // namespace
}  // namespace evenpack
