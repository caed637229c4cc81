#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/backoff.h"
#include "client/cpp/consumer.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ConsumerOptions, AJobIsAllThatIsNeeded) {
  EXPECT_THAT(Validate(ConsumerOptions{.job = "run"}), IsOk());
}

TEST(ConsumerOptions, RefusesWhatCannotWorkNamingTheField) {
  const auto refused = [](auto change) {
    ConsumerOptions options{.job = "run"};
    change(options);
    return Validate(options);
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refused([](auto& o) { o.job = ""; }),
              StatusIs(code, HasSubstr("job: ''")));
  EXPECT_THAT(refused([](auto& o) { o.subscriber = std::string(257, 'x'); }),
              StatusIs(code, HasSubstr("subscriber: 257 bytes")));
  EXPECT_THAT(refused([](auto& o) { o.last_digest = Digest128{}; }),
              StatusIs(code, HasSubstr("last_digest: a digest without from_step")));
  EXPECT_THAT(refused([](auto& o) { o.last_epoch = 0; }),
              StatusIs(code, HasSubstr("last_epoch: an epoch without from_step")));
  EXPECT_THAT(refused([](auto& o) { o.credits = 0; }),
              StatusIs(code, HasSubstr("credits: 0")));
  EXPECT_THAT(refused([](auto& o) { o.max_buffered_bytes = 0; }),
              StatusIs(code, HasSubstr("max_buffered_bytes: 0")));
  EXPECT_THAT(refused([](auto& o) { o.max_buffered_steps = 0; }),
              StatusIs(code, HasSubstr("max_buffered_steps: 0")));
  EXPECT_THAT(
      refused([](auto& o) { o.report_interval = std::chrono::milliseconds(-1); }),
      StatusIs(code, HasSubstr("report_interval: -1 ms")));
  EXPECT_THAT(refused([](auto& o) {
                o.report_interval = kLongestWait + std::chrono::milliseconds(1);
              }),
              StatusIs(code, HasSubstr("report_interval: 3155760000001 ms")));
}

}  // namespace
}  // namespace evenpack::client
