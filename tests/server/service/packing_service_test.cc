// The service as a whole: producers, ranks and operators at once.
#include "server/service/packing_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"

namespace evenpack {
namespace {

using grpc::StatusCode;
using testing::IngestClient;
using testing::IsGrpcOk;
using testing::ServiceSpec;
using testing::StepsClient;
using testing::SubscribeTo;
using testing::TestServer;

// Over a store whose commits wait, and one whose don't.
class PackingServiceTest : public ::testing::TestWithParam<bool> {
 protected:
  TestServer server_{GetParam()};
};

// All steps of a rank, each received and made durable.
std::vector<v1::Step> Follow(TestServer& server, uint32_t dp_rank) {
  v1::Subscribe subscribe = SubscribeTo("job", dp_rank);
  subscribe.set_sends_durable(true);
  subscribe.set_credits(2);
  StepsClient client(server, subscribe);
  client.ReadSubscribed();
  std::vector<v1::Step> steps;
  while (true) {
    auto response = client.Read();
    if (!response.has_value()) {
      ADD_FAILURE() << client.Finish().error_message();
      return steps;
    }
    if (response->has_drained()) break;
    if (!response->has_step()) continue;
    steps.push_back(response->step());
    client.Received(steps.back().index());
    client.Durable(steps.back().index());
  }
  client.WritesDone();
  EXPECT_THAT(client.Finish(), IsGrpcOk());
  return steps;
}

TEST_P(PackingServiceTest, AJobRunsFromItsDocumentsToTheLastStepOfEveryRank) {
  constexpr uint64_t kSteps = 60;
  v1::JobSpec spec = ServiceSpec();
  spec.mutable_retention()->set_max_steps_ahead(4);
  spec.mutable_buffer_limits()->set_max_tokens(800);
  ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
  std::vector<std::vector<v1::Step>> steps(2);
  std::vector<std::thread> threads;
  for (const uint32_t rank : {0U, 1U}) {
    threads.emplace_back([&, rank] { steps[rank] = Follow(server_, rank); });
  }
  threads.emplace_back([&] {
    IngestClient client(server_, "job");
    for (uint64_t i = 0; i < kSteps; ++i) {
      EXPECT_TRUE(client.Send(8 * i, std::vector<uint32_t>(8, 50)));
    }
    EXPECT_TRUE(client.End(8 * kSteps));
    client.WritesDone();
    EXPECT_THAT(client.Finish(), IsGrpcOk());
  });
  for (std::thread& thread : threads) thread.join();

  std::multiset<uint64_t> sequences;
  for (const std::vector<v1::Step>& of_rank : steps) {
    ASSERT_EQ(of_rank.size(), kSteps);
    for (uint64_t i = 0; i < kSteps; ++i) {
      EXPECT_EQ(of_rank[i].index(), i);
      EXPECT_EQ(of_rank[i].digest(), steps[0][i].digest());
      for (const v1::MicroBatch& micro_batch : of_rank[i].micro_batches()) {
        sequences.insert(micro_batch.documents().sequence().begin(),
                         micro_batch.documents().sequence().end());
      }
    }
  }
  ASSERT_EQ(sequences.size(), 8 * kSteps);
  uint64_t expected = 0;
  for (const uint64_t sequence : sequences) EXPECT_EQ(sequence, expected++);
  // The mark for the last step may come after its call.
  EXPECT_GE(server_.Get("job").durable_steps(), kSteps - 1);
}

TEST_P(PackingServiceTest, ErrorsOfAllCallsAreCounted) {
  EXPECT_FALSE(server_.Delete("a").ok());
  EXPECT_FALSE(server_.Create("", {}).ok());
  {
    IngestClient client(server_);
    client.Open("a");
    EXPECT_FALSE(client.Finish().ok());
    StepsClient steps(server_, SubscribeTo("a"));
    EXPECT_FALSE(steps.Finish().ok());
  }
  EXPECT_THAT(server_.Create("a", ServiceSpec()), IsGrpcOk());
  server_.WaitUntilNoCalls();
  const auto figures = server_.errors().Figures();
  EXPECT_EQ(figures[static_cast<size_t>(StatusCode::NOT_FOUND)], 3U);
  EXPECT_EQ(figures[static_cast<size_t>(StatusCode::INVALID_ARGUMENT)], 1U);
  EXPECT_EQ(figures[0], 0U);
}

// Calls that come and are cancelled at any moment, while the job goes on.
TEST_P(PackingServiceTest, CallsThatAreCancelledAtAnyMomentLeaveTheJobSound) {
  v1::JobSpec spec = ServiceSpec();
  spec.mutable_retention()->set_max_steps_ahead(2);
  spec.mutable_buffer_limits()->set_max_tokens(400);
  ASSERT_THAT(server_.Create("job", spec), IsGrpcOk());
  std::atomic<bool> stop = false;
  std::thread acknowledger([&] {
    while (!stop) {
      const uint64_t next = server_.Get("job").next_step();
      if (next == 0) continue;
      for (const uint32_t rank : {0U, 1U}) server_.Acknowledge("job", rank, next - 1);
    }
  });
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 60; ++i) {
      IngestClient client(server_);
      client.Open("job");
      const auto opened = client.Read();
      ASSERT_TRUE(opened.has_value());
      for (uint64_t k = 0; k < static_cast<uint64_t>(i % 5); ++k) {
        client.Send(opened->next_sequence() + 8 * k, std::vector<uint32_t>(8, 50));
      }
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 60; ++i) {
      StepsClient client(server_, SubscribeTo("job"));
      if (i % 2 == 0) client.ReadSubscribed();
      client.Received(0);
    }
  });
  for (std::thread& thread : threads) thread.join();
  server_.WaitUntilNoCalls();
  stop = true;
  acknowledger.join();
  const v1::Job job = server_.Get("job");
  EXPECT_EQ(job.subscribers(), 0U);
  EXPECT_EQ(job.streams(0).next_sequence() % 8, 0U);
  EXPECT_EQ(server_.jobs().Find("job").value()->Figures().producers, 0U);
}

INSTANTIATE_TEST_SUITE_P(CommitWaits, PackingServiceTest, ::testing::Bool());

}  // namespace
}  // namespace evenpack
