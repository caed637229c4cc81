#include "client/cli/top/top_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "evenpack/v1/observation.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "tests/client/cli/online/test_context.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::Not;
using ::testing::Property;
using ::testing::Return;
using ::testing::StartsWith;
using testing::StatusIs;
using testing::TestContext;
using Request = v1::ObserveJobRequest;

std::optional<TerminalSize> Nowhere() { return std::nullopt; }
std::optional<TerminalSize> Small() { return TerminalSize{80, 10}; }

v1::ObserveJobResponse Named(const std::string& name) {
  v1::ObserveJobResponse observed;
  observed.mutable_job()->set_name(name);
  return observed;
}

TEST(TopCommandTest, WithoutATerminalAJobIsShownOnceAsPlainText) {
  TestContext context;
  EXPECT_CALL(*context.connection, ObserveJob(AllOf(Property(&Request::job, "run"),
                                                    Property(&Request::steps, 40U))))
      .WillOnce(Return(Named("run")));
  EXPECT_THAT(RunTopOn({{"--job", "run"}}, context.Get(), Nowhere), IsOk());
  EXPECT_THAT(context.out.text(), StartsWith("run  epoch 0"));
  EXPECT_THAT(context.out.text(), EndsWith("subscribers\n"));
  EXPECT_THAT(context.out.text(), Not(HasSubstr("\x1b")));
}

TEST(TopCommandTest, WithoutAJobAllAreListed) {
  TestContext context;
  v1::ListJobsResponse jobs;
  jobs.add_jobs()->set_name("one");
  EXPECT_CALL(*context.connection, ListJobs).WillOnce(Return(jobs));
  EXPECT_THAT(RunTopOn({}, context.Get(), Nowhere), IsOk());
  EXPECT_THAT(context.out.text(), HasSubstr("\none "));
}

TEST(TopCommandTest, OnceOnATerminalLeavesRoomForThePromptAndNoOtherScreen) {
  TestContext context;
  EXPECT_CALL(*context.connection, ObserveJob(Property(&Request::steps, 9U)))
      .WillOnce(Return(Named("run")));
  EXPECT_THAT(RunTopOn({{"--job", "run"}, {"--once", "true"}}, context.Get(), Small),
              IsOk());
  EXPECT_THAT(context.out.text(), Not(HasSubstr("\x1b[?1049h")));
}

TEST(TopCommandTest, OnATerminalItGoesOnUntilInterruptedAndRestoresTheScreen) {
  TestContext context;
  EXPECT_CALL(*context.connection, ObserveJob)
      .WillOnce(Return(Named("first")))
      .WillOnce([&context](const Request&) {
        context.interrupt.Request();
        return absl::CancelledError("Ctrl-C");
      });
  EXPECT_THAT(RunTopOn({{"--job", "run"}, {"--interval", "0.1"}}, context.Get(), Small),
              IsOk());
  EXPECT_THAT(context.out.text(), StartsWith("\x1b[?1049h"));
  EXPECT_THAT(context.out.text(), HasSubstr("first"));
  EXPECT_THAT(context.out.text(), EndsWith("\x1b[?1049l"));
}

TEST(TopCommandTest, SigtermRestoresTheScreenAndIsNoGoodEnd) {
  TestContext context;
  EXPECT_CALL(*context.connection, ObserveJob).WillOnce([&context](const Request&) {
    context.interrupt.Request(SIGTERM);
    return Named("run");
  });
  EXPECT_THAT(RunTopOn({{"--job", "run"}}, context.Get(), Small),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("SIGTERM")));
  EXPECT_THAT(context.out.text(), EndsWith("\x1b[?1049l"));
}

TEST(TopCommandTest, AnErrorRestoresTheScreenToo) {
  TestContext context;
  EXPECT_CALL(*context.connection, ObserveJob)
      .WillOnce(Return(absl::NotFoundError("job: gone")));
  EXPECT_THAT(RunTopOn({{"--job", "run"}}, context.Get(), Small),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
  EXPECT_THAT(context.out.text(), EndsWith("\x1b[?1049l"));
}

TEST(TopCommandTest, JsonIsALineForEachLookUntilWhoReadsHasEnough) {
  TestContext context;
  context.out.CloseAfter(2);
  EXPECT_CALL(*context.connection, ObserveJob(Property(&Request::steps, 0U)))
      .Times(3)
      .WillRepeatedly(Return(Named("run")));
  EXPECT_THAT(RunTopOn({{"--job", "run"}, {"--json", "true"}, {"--interval", "0.1"}},
                       context.Get(), Small),
              IsOk());
  const std::string text = context.out.text();
  const size_t line = text.find('\n');
  EXPECT_EQ(nlohmann::json::parse(text.substr(0, line))["job"]["name"], "run");
  EXPECT_EQ(text.substr(line + 1), text.substr(0, line + 1));
}

TEST(TopCommandTest, AnIntervalOutOfItsRangeIsRefused) {
  for (const char* seconds : {"0", "0.01", "3601", "x"}) {
    TestContext context;
    EXPECT_THAT(RunTopOn({{"--interval", seconds}}, context.Get(), Nowhere),
                StatusIs(kInvalid, HasSubstr("--interval")));
  }
}

}  // namespace
}  // namespace evenpack
