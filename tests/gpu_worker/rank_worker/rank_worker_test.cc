#include "gpu_worker/rank_worker/rank_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stop_token>

#include "client/cpp/mocks/mock_connection.h"
#include "evenpack/v1/job.pb.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::GroupOptions;
using client::MockConnection;
using client::MockConsumer;
using client::MockGroupMember;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::NiceMock;
using ::testing::Return;

class RankWorkerTest : public ::testing::Test {
 protected:
  RankWorkerTest() {
    options_.steps.job = "run";
    options_.steps.dp_rank = 3;
    options_.steps.cp_rank = 1;
    options_.member = "a";
  }
  absl::StatusOr<std::unique_ptr<RankWorker>> Start() {
    client::Client client(connection_);
    return RankWorker::Start(client, options_, engine_);
  }
  std::string RefusedFieldWhere(const std::function<void(RankWorkerOptions&)>& change) {
    change(options_);
    const absl::Status status = Start().status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, _));
    return RefusedField(status);
  }

  const std::shared_ptr<NiceMock<MockConnection>> connection_ =
      std::make_shared<NiceMock<MockConnection>>();
  RankWorkerOptions options_;
  CpuAttention engine_{1};
};

TEST_F(RankWorkerTest, JoinsTheGroupOfTheJobsSize) {
  EXPECT_CALL(*connection_, OpenConsumer).WillOnce([](const auto&) {
    auto consumer = std::make_unique<NiceMock<MockConsumer>>();
    auto spec = std::make_shared<v1::JobSpec>();
    spec->mutable_parallelism()->set_context(4);
    client::Subscription subscription;
    subscription.spec = std::move(spec);
    ON_CALL(*consumer, AwaitSubscription).WillByDefault(Return(subscription));
    ON_CALL(*consumer, Next).WillByDefault(Return(std::nullopt));
    return consumer;
  });
  EXPECT_CALL(*connection_,
              JoinGroup(AllOf(
                  Field(&GroupOptions::job, "run"), Field(&GroupOptions::dp_rank, 3U),
                  Field(&GroupOptions::cp_size, 4U), Field(&GroupOptions::cp_rank, 1U),
                  Field(&GroupOptions::member, "a"))))
      .WillOnce([](const auto&) {
        auto member = std::make_unique<NiceMock<MockGroupMember>>();
        ON_CALL(*member, Next)
            .WillByDefault(Return(absl::AbortedError("the seat was taken")));
        return member;
      });
  const auto worker = Start();
  ASSERT_THAT(worker, IsOk());
  const auto step = (*worker)->NextStep();
  ASSERT_THAT(step, IsOk());
  EXPECT_FALSE(step->has_value());
  EXPECT_THAT((*worker)->executor().BeginStep(0),
              StatusIs(absl::StatusCode::kFailedPrecondition, "the seat was taken"));
}

// A server that is away would have it wait for ever.
TEST_F(RankWorkerTest, IsNotWaitedForOnceItsStopIsRequested) {
  std::stop_source stop;
  EXPECT_CALL(*connection_, OpenConsumer).WillOnce([&stop](const auto&) {
    auto consumer = std::make_unique<NiceMock<MockConsumer>>();
    auto cancelled = std::make_shared<bool>(false);
    ON_CALL(*consumer, Cancel).WillByDefault([cancelled] { *cancelled = true; });
    ON_CALL(*consumer, AwaitSubscription)
        .WillByDefault([&stop, cancelled]() -> absl::StatusOr<client::Subscription> {
          stop.request_stop();
          EXPECT_TRUE(*cancelled);
          return absl::CancelledError("cancelled");
        });
    return consumer;
  });
  client::Client client(connection_);
  EXPECT_THAT(RankWorker::Start(client, options_, engine_, stop.get_token()),
              StatusIs(absl::StatusCode::kCancelled, "cancelled"));
}

TEST_F(RankWorkerTest, RefusesByNameWhatCannotWork) {
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.prepared_ahead = 0; }), "prepared_ahead");
  options_.prepared_ahead = 1;
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.shape.head_size = 65; }), "head_size");
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.steps.cp_rank.reset(); }),
            "steps.cp_rank");
}

}  // namespace
}  // namespace evenpack::worker
