// The mocks, used as a test of a program on top of the client would.
#include "client/cpp/mocks/mock_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "client/cpp/client.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::TestHistory;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::Property;
using ::testing::Return;
using ::testing::SizeIs;

// A trainer: tokens of all steps of rank 0.
absl::StatusOr<uint64_t> CountTokens(Client client) {
  auto consumer = client.OpenConsumer({.job = "run", .sends_durable = true});
  if (!consumer.ok()) return consumer.status();
  uint64_t tokens = 0;
  for (;;) {
    absl::StatusOr<std::optional<RankStep>> step = (*consumer)->Next();
    if (!step.ok()) return step.status();
    if (!step->has_value()) return tokens;
    for (const MicroBatchView& view : (*step)->micro_batches()) tokens += view.tokens();
    absl::Status status = (*consumer)->AcknowledgeDurable((*step)->index());
    if (!status.ok()) return status;
  }
}

class MockConnectionTest : public ::testing::Test {
 protected:
  const std::shared_ptr<MockConnection> connection_ =
      std::make_shared<MockConnection>();
  Client client_{connection_};
};

TEST_F(MockConnectionTest, ATrainerCanBeTestedWithoutAServer) {
  const TestHistory history(2);
  const auto spec = std::make_shared<const v1::JobSpec>(history.spec());
  const auto step = RankStep::FromMessage(history.Step(1).step(), spec);
  ASSERT_THAT(step, IsOk());
  auto consumer = std::make_unique<MockConsumer>();
  EXPECT_CALL(*consumer, Next).WillOnce(Return(*step)).WillOnce(Return(std::nullopt));
  EXPECT_CALL(*consumer, AcknowledgeDurable(1)).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(*connection_, OpenConsumer(AllOf(Field(&ConsumerOptions::job, "run"),
                                               Field(&ConsumerOptions::dp_rank, 0U))))
      .WillOnce([&consumer](const auto&) { return std::move(consumer); });
  const absl::StatusOr<uint64_t> tokens = CountTokens(client_);
  ASSERT_THAT(tokens, IsOk());
  EXPECT_EQ(*tokens,
            step->micro_batches()[0].tokens() + step->micro_batches()[1].tokens());
}

TEST_F(MockConnectionTest, TheClientPassesEveryCallOn) {
  v1::JobSpec spec;
  spec.set_window(64);
  EXPECT_CALL(*connection_,
              CreateJob(AllOf(Property(&v1::CreateJobRequest::name, "run"),
                              Property(&v1::CreateJobRequest::spec,
                                       Property(&v1::JobSpec::window, 64U)))))
      .WillOnce(Return(v1::Job()));
  EXPECT_CALL(*connection_, GetJob("run")).WillOnce(Return(v1::Job()));
  v1::ListJobsResponse listed;
  listed.add_jobs();
  EXPECT_CALL(*connection_, ListJobs).WillOnce(Return(listed));
  EXPECT_CALL(*connection_, UpdateJob).WillOnce(Return(v1::Job()));
  EXPECT_CALL(*connection_, DeleteJob("run")).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(*connection_, GetStep).WillOnce(Return(v1::Step()));
  EXPECT_CALL(*connection_, Acknowledge).WillOnce(Return(7));
  EXPECT_CALL(*connection_, ReportLatency)
      .WillOnce(Return(v1::ReportLatencyResponse()));
  EXPECT_CALL(*connection_, OpenProducer(Field(&ProducerOptions::stream, "web")))
      .WillOnce([](const auto&) { return std::make_unique<MockProducer>(); });
  EXPECT_CALL(*connection_, JoinGroup(Field(&GroupOptions::cp_rank, 1U)))
      .WillOnce([](const auto&) { return std::make_unique<MockGroupMember>(); });
  EXPECT_THAT(client_.CreateJob("run", spec), IsOk());
  EXPECT_THAT(client_.GetJob("run"), IsOk());
  EXPECT_THAT(client_.ListJobs()->jobs(), SizeIs(1));
  EXPECT_THAT(client_.UpdateJob({}), IsOk());
  EXPECT_THAT(client_.DeleteJob("run"), IsOk());
  EXPECT_THAT(client_.GetStep({}), IsOk());
  EXPECT_EQ(*client_.Acknowledge({}), 7U);
  EXPECT_THAT(client_.ReportLatency({}), IsOk());
  EXPECT_THAT(client_.OpenProducer({.job = "run", .stream = "web"}), IsOk());
  EXPECT_THAT(client_.JoinGroup({.job = "run", .cp_size = 2, .cp_rank = 1}), IsOk());
}

}  // namespace
}  // namespace evenpack::client
