#include "server/store/cause_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CauseLogTest, ACauseIsToldOnceUntilItIsAnotherOrOver) {
  CauseLog log("database not reached");
  const auto written = [&log](const absl::Status& status) {
    ::testing::internal::CaptureStderr();
    log.Note(status);
    return ::testing::internal::GetCapturedStderr();
  };
  const absl::Status refused = absl::UnavailableError("Connection refused");
  const auto line =
      HasSubstr("warning database not reached error=\"Connection refused\"");
  EXPECT_THAT(written(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(written(refused), line);
  EXPECT_THAT(written(refused), IsEmpty());
  EXPECT_THAT(written(absl::UnavailableError("locked")), HasSubstr("error=locked"));
  EXPECT_THAT(written(refused), line);
  EXPECT_THAT(written(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(written(refused), line);
}

}  // namespace
}  // namespace evenpack
