#include "client/cli/online/follow_command.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::evenpack::testing::TestHistory;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;
using ::testing::StrictMock;

// A subscription to a history of three steps.
class FollowCommandTest : public ::testing::Test {
 protected:
  FollowCommandTest() {
    ON_CALL(*consumer_, Next()).WillByDefault([this] { return Next(); });
    ON_CALL(*consumer_, AcknowledgeDurable(_)).WillByDefault([this](uint64_t step) {
      marked_.push_back(step);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::optional<client::RankStep>> Next() {
    if (next_ == history_.size()) return std::nullopt;
    auto step = client::RankStep::FromMessage(
        history_.Step(next_++).step(),
        std::make_shared<const v1::JobSpec>(history_.spec()));
    if (!step.ok()) return step.status();
    return *std::move(step);
  }
  void ExpectOpened() {
    EXPECT_CALL(*context_.connection, OpenConsumer)
        .WillOnce([this](const client::ConsumerOptions& options) {
          options_ = options;
          return absl::StatusOr<std::unique_ptr<client::Consumer>>(
              std::move(consumer_));
        });
  }
  absl::Status Run(FlagValues values) {
    values["--job"] = "run-7";
    values["--dp-rank"] = "0";
    return RunFollow(values, context_.Get());
  }
  // The steps that were written as JSON.
  std::vector<uint64_t> Written() const {
    std::vector<uint64_t> steps;
    std::istringstream lines(context_.out.text());
    for (std::string line; std::getline(lines, line);) {
      steps.push_back(nlohmann::json::parse(line)["step"]);
    }
    return steps;
  }

  TestContext context_;
  TestHistory history_{3};
  uint64_t next_ = 0;
  std::vector<uint64_t> marked_;
  client::ConsumerOptions options_;
  std::unique_ptr<::testing::NiceMock<client::MockConsumer>> consumer_ =
      std::make_unique<::testing::NiceMock<client::MockConsumer>>();
};

TEST_F(FollowCommandTest, WritesEachStepAndEndsWithTheJob) {
  EXPECT_CALL(*consumer_, AcknowledgeDurable).Times(0);
  EXPECT_CALL(*consumer_, Close()).WillOnce(Return(absl::OkStatus()));
  ExpectOpened();
  EXPECT_THAT(Run({{"--json", "true"}}), IsOk());
  EXPECT_THAT(Written(), ElementsAre(0, 1, 2));
  EXPECT_EQ(options_.job, "run-7");
  EXPECT_EQ(options_.dp_rank, 0U);
  EXPECT_EQ(options_.cp_rank, std::nullopt);
  EXPECT_EQ(options_.from_step, std::nullopt);
  EXPECT_FALSE(options_.sends_durable);
  EXPECT_EQ(options_.report_interval, std::chrono::milliseconds(0));
  EXPECT_EQ(options_.subscriber.substr(0, 12), "evenpackctl-");
  EXPECT_EQ(options_.credits, 16U);
  EXPECT_EQ(options_.max_buffered_steps, 16U);
  EXPECT_TRUE(context_.returned_credits);
  EXPECT_THAT(Validate(options_), IsOk());
}

TEST_F(FollowCommandTest, PassesItsFlagsOn) {
  ExpectOpened();
  EXPECT_THAT(Run({{"--cp-rank", "1"},
                   {"--from-step", "5"},
                   {"--steps", "2"},
                   {"--subscriber", "me"},
                   {"--json", "true"}}),
              IsOk());
  EXPECT_EQ(options_.cp_rank, 1U);
  EXPECT_EQ(options_.from_step, 5U);
  EXPECT_EQ(options_.subscriber, "me");
  EXPECT_EQ(options_.credits, 2U);
  EXPECT_EQ(options_.max_buffered_steps, 2U);
  EXPECT_THAT(Written(), ElementsAre(0, 1));
}

TEST_F(FollowCommandTest, MarksAStepDurableOnceItWasWritten) {
  EXPECT_CALL(*consumer_, Close()).WillOnce(Return(absl::OkStatus()));
  ExpectOpened();
  EXPECT_THAT(Run({{"--ack", "durable"}}), IsOk());
  EXPECT_TRUE(options_.sends_durable);
  EXPECT_THAT(marked_, ElementsAre(0, 1, 2));
  EXPECT_THAT(context_.out.text(),
              HasSubstr("step 2 (full_batch): DP rank 0 has 2 of "));
}

TEST_F(FollowCommandTest, EndsWhereNobodyReadsAndMarksNothingThatWasNotWritten) {
  EXPECT_CALL(*consumer_, Close()).WillOnce(Return(absl::OkStatus()));
  ExpectOpened();
  context_.out.CloseAfter(1);
  EXPECT_THAT(Run({{"--ack", "durable"}, {"--json", "true"}}), IsOk());
  EXPECT_THAT(Written(), ElementsAre(0));
  EXPECT_THAT(marked_, ElementsAre(0));
}

TEST_F(FollowCommandTest, AMarkThatCannotBeConfirmedIsAnError) {
  EXPECT_CALL(*consumer_, Close()).WillOnce(Return(absl::UnavailableError("gone")));
  ExpectOpened();
  EXPECT_THAT(Run({{"--ack", "durable"}}),
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

TEST_F(FollowCommandTest, WritesTheStepsBeforeAnError) {
  EXPECT_CALL(*consumer_, Next())
      .WillOnce([this] { return Next(); })
      .WillOnce(Return(absl::AbortedError("a newer subscription")));
  ExpectOpened();
  EXPECT_THAT(Run({{"--json", "true"}}),
              StatusIs(absl::StatusCode::kAborted, "a newer subscription"));
  EXPECT_THAT(Written(), ElementsAre(0));
}

TEST_F(FollowCommandTest, AnInterruptCancelsTheSubscription) {
  Interrupt cancelled;
  EXPECT_CALL(*consumer_, Cancel()).WillOnce([&cancelled] { cancelled.Request(); });
  EXPECT_CALL(*consumer_, Next()).WillOnce([&cancelled]() {
    while (!cancelled.IsRequested()) std::this_thread::yield();
    return absl::CancelledError("cancelled");
  });
  ExpectOpened();
  context_.interrupt.Request();
  EXPECT_THAT(Run({}), StatusIs(absl::StatusCode::kCancelled, "cancelled"));
}

TEST_F(FollowCommandTest, WithoutAcknowledgementItTakesAllCreditsAndReturnsNone) {
  EXPECT_CALL(*consumer_, AcknowledgeDurable).Times(0);
  ExpectOpened();
  EXPECT_THAT(Run({{"--ack", "none"}, {"--json", "true"}}), IsOk());
  EXPECT_THAT(Written(), ElementsAre(0, 1, 2));
  EXPECT_FALSE(context_.returned_credits);
  EXPECT_EQ(options_.credits, 65'536U);
  EXPECT_FALSE(options_.sends_durable);
  EXPECT_THAT(Validate(options_), IsOk());
}

TEST_F(FollowCommandTest, RefusesBadFlagsBeforeItConnects) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--ack", "all"}},
       "--ack: 'all' is not accepted; accepted: durable, received, "
       "none"},
      {{{"--steps", "0"}}, "--steps: '0'"},
      {{{"--cp-rank", "-1"}}, "--cp-rank: '-1'"},
      {{{"--from-step", "x"}}, "--from-step: 'x'"},
      {{{"--subscriber", ""}}, "--subscriber: ''"},
      {{{"--server", "x"}}, "--server: 'x'"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(Run(values),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
  EXPECT_THAT(
      RunFollow({{"--job", "a"}}, context_.Get()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--dp-rank is missing")));
  EXPECT_THAT(context_.servers, IsEmpty());
}

TEST(StepCommandTest, WritesTheStepAsFollowDoes) {
  const TestHistory history(6);
  TestContext context;
  v1::Job job;
  *job.mutable_spec() = history.spec();
  EXPECT_CALL(*context.connection, GetJob("run-7")).WillOnce(Return(job));
  v1::GetStepRequest request;
  EXPECT_CALL(*context.connection, GetStep)
      .WillOnce([&](const v1::GetStepRequest& sent) {
        request = sent;
        return history.Step(5, 1, 1).step();
      });
  EXPECT_THAT(RunStep({{"--job", "run-7"},
                       {"--step", "5"},
                       {"--dp-rank", "1"},
                       {"--cp-rank", "1"},
                       {"--json", "true"}},
                      context.Get()),
              IsOk());
  EXPECT_EQ(request.job(), "run-7");
  EXPECT_EQ(request.step(), 5U);
  EXPECT_EQ(request.dp_rank(), 1U);
  EXPECT_EQ(request.cp_rank(), 1U);
  const auto step = nlohmann::json::parse(context.out.text());
  EXPECT_EQ(step["step"], 5);
  EXPECT_EQ(step["dp_rank"], 1);
  EXPECT_EQ(step["micro_batches"].size(), 2U);
  EXPECT_TRUE(step["micro_batches"][0].contains("slices"));
}

TEST(StepCommandTest, GivesErrorsAsTheyAre) {
  TestContext context;
  EXPECT_THAT(
      RunStep({{"--job", "a"}, {"--dp-rank", "0"}}, context.Get()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--step is missing")));
  EXPECT_CALL(*context.connection, GetJob("a")).WillOnce(Return(v1::Job()));
  EXPECT_CALL(*context.connection, GetStep)
      .WillOnce(Return(absl::OutOfRangeError("the oldest step kept is 7")));
  EXPECT_THAT(
      RunStep({{"--job", "a"}, {"--dp-rank", "0"}, {"--step", "1"}}, context.Get()),
      StatusIs(absl::StatusCode::kOutOfRange, "the oldest step kept is 7"));
}

}  // namespace
}  // namespace evenpack
