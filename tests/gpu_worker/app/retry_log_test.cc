#include "gpu_worker/app/retry_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/fake_clock.h"

namespace evenpack::worker {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RetryLogTest, NamesTheServerAndWhyAtOnceAndThenSeldomAndThatItAnswersAgain) {
  evenpack::testing::FakeClock clock;
  const client::RetryListener log = LogRetries("packer:7654", clock);
  const auto written = [&log](const absl::Status& why, seconds failing) {
    ::testing::internal::CaptureStderr();
    log({"following job 'run-7' as DP rank 3", why, failing, {}});
    return ::testing::internal::GetCapturedStderr();
  };
  const absl::Status refused = absl::UnavailableError("Connection refused");
  const auto of_what = AllOf(HasSubstr("server=packer:7654"),
                             HasSubstr("for=\"following job 'run-7' as DP rank 3\""));
  EXPECT_THAT(written(refused, seconds(0)),
              AllOf(HasSubstr("warning waits for the packing server"), of_what,
                    HasSubstr("seconds=0 error=\"Connection refused\"")));
  clock.Advance(kWorkerRetryPace.between - seconds(1));
  EXPECT_THAT(written(refused, seconds(299)), IsEmpty());
  clock.Advance(seconds(1));
  EXPECT_THAT(written(refused, seconds(300)), HasSubstr("seconds=300 error="));
  EXPECT_THAT(written(absl::OkStatus(), seconds(301)),
              AllOf(HasSubstr("info the packing server answers again"), of_what,
                    HasSubstr("after_seconds=301")));
}

}  // namespace
}  // namespace evenpack::worker
