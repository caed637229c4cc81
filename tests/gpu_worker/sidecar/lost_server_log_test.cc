#include "gpu_worker/sidecar/lost_server_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/fake_clock.h"

namespace evenpack::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LostServerLogTest, NamesTheServerAndWhyAtOnceAndThenSeldom) {
  evenpack::testing::FakeClock clock;
  LostServerLog log("packer:7654", clock);
  const auto written = [&log] {
    ::testing::internal::CaptureStderr();
    log.Lost("run-7", absl::UnavailableError("Connection refused"));
    return ::testing::internal::GetCapturedStderr();
  };
  const auto line = AllOf(HasSubstr("warning the packing server can't be reached"),
                          HasSubstr("server=packer:7654"), HasSubstr("job=run-7"),
                          HasSubstr("error=\"Connection refused\""));
  EXPECT_THAT(written(), line);
  EXPECT_THAT(written(), IsEmpty());
  clock.Advance(LostServerLog::kBetween - std::chrono::milliseconds(1));
  EXPECT_THAT(written(), IsEmpty());
  clock.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(written(), line);
}

}  // namespace
}  // namespace evenpack::worker
