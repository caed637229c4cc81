#include "server/app/library_logs.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <string>

#include "server/runtime/log.h"

namespace evenpack {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(LibraryLogsTest, LibrariesWriteLinesOfThisLog) {
  CaptureStderr();
  StartLog(LogLevel::kInfo, LogFormat::kText);
  TakeLibraryLogs();
  grpc_init();
  gpr_log(GPR_ERROR, "%s broke", "a \"pipe\"");
  gpr_log(GPR_DEBUG, "too fine");
  GOOGLE_LOG(WARNING) << "a field is odd";
  GOOGLE_LOG(ERROR) << "a field is wrong";
  grpc_shutdown();
  const std::string lines = GetCapturedStderr();
  EXPECT_THAT(lines, ContainsRegex(" error grpc message=\"a .\"pipe.\" broke\" at="
                                   ".*library_logs_test.cc:[0-9]+\n"));
  EXPECT_THAT(lines, HasSubstr(" warning protobuf message=\"a field is odd\" at="));
  EXPECT_THAT(lines, HasSubstr(" error protobuf message=\"a field is wrong\" at="));
  EXPECT_THAT(lines, Not(HasSubstr("too fine")));
}

}  // namespace
}  // namespace evenpack
