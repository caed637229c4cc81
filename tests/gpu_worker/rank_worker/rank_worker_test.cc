#include "gpu_worker/rank_worker/rank_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "client/cpp/mocks/mock_connection.h"
#include "evenpack/v1/job.pb.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/clock.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::GroupOptions;
using client::MockConnection;
using client::MockConsumer;
using client::MockGroupMember;
using client::RankStep;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::TestHistory;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::InSequence;
using ::testing::NiceMock;
using ::testing::Return;

// Five seconds pass from each look to the next.
class RunningClock final : public Clock {
 public:
  TimePoint Now() const override { return now_ += std::chrono::seconds(5); }

 private:
  mutable TimePoint now_;
};

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

  // Of the consumer that is opened next, which hands out so many steps.
  MockConsumer& ServeSteps(uint64_t count) {
    auto consumer = std::make_unique<NiceMock<MockConsumer>>();
    MockConsumer& served = *consumer;
    const auto spec = std::make_shared<const v1::JobSpec>(history_.spec());
    client::Subscription subscription;
    subscription.spec = spec;
    ON_CALL(served, AwaitSubscription).WillByDefault(Return(subscription));
    auto& next = EXPECT_CALL(served, Next);
    for (uint64_t index = 0; index < count; ++index) {
      next.WillOnce(
          Return(RankStep::FromMessage(history_.Step(index).step(), spec).value()));
    }
    next.WillRepeatedly(Return(std::nullopt));
    EXPECT_CALL(*connection_,
                OpenConsumer(Field(&client::ConsumerOptions::reports_waits, false)))
        .WillOnce(Return(::testing::ByMove(std::move(consumer))));
    ON_CALL(*connection_, JoinGroup).WillByDefault([](const auto&) {
      auto member = std::make_unique<NiceMock<MockGroupMember>>();
      ON_CALL(*member, Next)
          .WillByDefault(Return(absl::AbortedError("the seat was taken")));
      return member;
    });
    return served;
  }

  const TestHistory history_{3};
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

// What its own thread waits for is ahead of what the trainer does.
TEST_F(RankWorkerTest, ReportsWhatTheTrainerWaitedForSteps) {
  const RunningClock clock;
  options_.executor.clock = &clock;
  MockConsumer& consumer = ServeSteps(3);
  {
    const InSequence in_order;
    // The first has waited for the connection too.
    EXPECT_CALL(consumer, ReportWait(0));
    EXPECT_CALL(consumer, ReportWait(5)).Times(2);
  }
  const auto worker = Start();
  ASSERT_THAT(worker, IsOk());
  for (int i = 0; i < 4; ++i) ASSERT_THAT((*worker)->NextStep(), IsOk());
}

TEST_F(RankWorkerTest, LeavesWaitsToATrainerWithAConsumer) {
  options_.steps.reports_waits = false;
  EXPECT_CALL(ServeSteps(1), ReportWait).Times(0);
  const auto worker = Start();
  ASSERT_THAT(worker, IsOk());
  ASSERT_THAT((*worker)->NextStep(), IsOk());
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

TEST_F(RankWorkerTest, StepsThatWaitAreNotHandedOutOnceItIsCancelled) {
  EXPECT_CALL(ServeSteps(2), Cancel).Times(::testing::AtLeast(1));
  const auto worker = Start();
  ASSERT_THAT(worker, IsOk());
  while ((*worker)->figures().prepared_steps < 2) std::this_thread::yield();
  (*worker)->Cancel();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT((*worker)->NextStep().status(),
                StatusIs(absl::StatusCode::kCancelled, "the worker was cancelled"));
  }
}

// A subscription would end that of the worker that has the rank.
TEST_F(RankWorkerTest, RefusesByNameWhatCannotWorkBeforeItSubscribes) {
  EXPECT_CALL(*connection_, OpenConsumer).Times(0);
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.prepared_ahead = 0; }), "prepared_ahead");
  options_.prepared_ahead = 1;
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.shape.head_size = 65; }), "head_size");
  options_.shape.head_size = 64;
  EXPECT_EQ(RefusedFieldWhere([](auto& o) { o.steps.cp_rank.reset(); }),
            "steps.cp_rank");
  options_.steps.cp_rank = 1;
  for (const size_t bytes : {0, 257}) {
    EXPECT_EQ(RefusedFieldWhere([=](auto& o) { o.member.assign(bytes, 'x'); }),
              "member");
  }
}

}  // namespace
}  // namespace evenpack::worker
