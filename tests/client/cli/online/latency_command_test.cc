#include "client/cli/online/latency_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evenpack/v1/latency.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::DoAll;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Property;
using ::testing::Return;
using ::testing::SaveArg;
using testing::StatusIs;
using testing::TestContext;
using Request = v1::GetLatencyRequest;

TEST(LatencyCommandTest, AsksForWhatTheFlagsSayAndWritesIt) {
  v1::GetLatencyResponse latency;
  latency.add_steps()->set_step(5);
  TestContext context;
  EXPECT_CALL(*context.connection, GetLatency(AllOf(Property(&Request::job, "run"),
                                                    Property(&Request::steps, 3U),
                                                    Property(&Request::ranks, 7U))))
      .WillOnce(Return(latency));
  EXPECT_THAT(
      RunLatency(
          {{"--job", "run"}, {"--steps", "3"}, {"--ranks", "7"}, {"--json", "true"}},
          context.Get()),
      IsOk());
  EXPECT_EQ(nlohmann::json::parse(context.out.text())["steps"][0]["step"], 5);
  TestContext text;
  EXPECT_CALL(*text.connection, GetLatency(AllOf(Property(&Request::steps, 8U),
                                                 Property(&Request::ranks, 16U))))
      .WillOnce(Return(latency));
  EXPECT_THAT(RunLatency({{"--job", "run"}}, text.Get()), IsOk());
  EXPECT_THAT(text.out.text(), HasSubstr("cp sharding"));
}

v1::GetLatencyResponse Suggesting(double attention) {
  v1::GetLatencyResponse latency;
  v1::CostCalibration& calibration = *latency.mutable_calibration();
  calibration.mutable_applied()->set_attention(1);
  calibration.mutable_applied()->set_linear(1.5);
  calibration.mutable_suggested()->set_attention(attention);
  calibration.mutable_suggested()->set_linear(1.5);
  return latency;
}

TEST(LatencyCommandTest, AppliesWhatIsSuggestedToTheSpecAsItIs) {
  TestContext context;
  v1::Job job;
  job.set_epoch(3);
  job.mutable_spec()->set_window(4096);
  job.mutable_spec()->mutable_cost()->set_linear_scale(1.5);
  EXPECT_CALL(*context.connection, GetLatency).WillOnce(Return(Suggesting(1.25)));
  EXPECT_CALL(*context.connection, GetJob("run")).WillOnce(Return(job));
  v1::UpdateJobRequest sent;
  v1::Job updated = job;
  updated.set_epoch(4);
  updated.set_next_step(17);
  EXPECT_CALL(*context.connection, UpdateJob)
      .WillOnce(DoAll(SaveArg<0>(&sent), Return(updated)));
  EXPECT_THAT(RunLatency({{"--job", "run"}, {"--apply", "true"}}, context.Get()),
              IsOk());
  EXPECT_EQ(sent.name(), "run");
  EXPECT_EQ(sent.expected_epoch(), 3U);
  EXPECT_FALSE(sent.has_from_step());
  EXPECT_EQ(sent.spec().window(), 4096U);
  EXPECT_EQ(sent.spec().cost().attention_scale(), 1.25);
  EXPECT_EQ(sent.spec().cost().linear_scale(), 1.5);
  EXPECT_THAT(context.err.text(), HasSubstr("is in epoch 4 from step 17 on"));
}

TEST(LatencyCommandTest, AppliesNothingWhereNothingElseIsSuggested) {
  TestContext context;
  EXPECT_CALL(*context.connection, GetLatency).WillOnce(Return(Suggesting(1)));
  EXPECT_THAT(RunLatency({{"--job", "run"}, {"--apply", "true"}}, context.Get()),
              IsOk());
  EXPECT_THAT(context.err.text(), HasSubstr("the job stays as it is"));
}

TEST(LatencyCommandTest, RefusesBadFlagsAndGivesTheServersError) {
  TestContext context;
  EXPECT_THAT(RunLatency({}, context.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--job")));
  EXPECT_THAT(RunLatency({{"--job", "run"}, {"--steps", "65"}}, context.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--steps")));
  EXPECT_TRUE(context.servers.empty());
  EXPECT_CALL(*context.connection, GetLatency)
      .WillOnce(Return(absl::NotFoundError("run")));
  EXPECT_THAT(RunLatency({{"--job", "run"}}, context.Get()),
              StatusIs(absl::StatusCode::kNotFound, "run"));
}

}  // namespace
}  // namespace evenpack
