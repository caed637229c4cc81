#include "client/cli/online/latency_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evenpack/v1/latency.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Property;
using ::testing::Return;
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
