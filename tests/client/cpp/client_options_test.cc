#include "client/cpp/client_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(ClientOptions, AnAddressIsAllThatIsNeeded) {
  EXPECT_THAT(Validate(ClientOptions{.address = "localhost:7777"}), IsOk());
}

TEST(ClientOptions, AServerMayHaveOthersBesideIt) {
  EXPECT_THAT(Validate(ClientOptions{.address = "a:7777,b:7777"}), IsOk());
}

TEST(ClientOptions, RefusesWhatCannotWorkNamingTheField) {
  const auto refused = [](auto change) {
    ClientOptions options{.address = "localhost:7777"};
    change(options);
    return Validate(options);
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refused([](auto& o) { o.address = ""; }),
              StatusIs(code, HasSubstr("address: ''")));
  EXPECT_THAT(refused([](auto& o) { o.address = "a:1,,b:1"; }),
              StatusIs(code, HasSubstr("address: 'a:1,,b:1'")));
  EXPECT_THAT(refused([](auto& o) { o.call_timeout = milliseconds(0); }),
              StatusIs(code, HasSubstr("call_timeout: 0 ms")));
  EXPECT_THAT(refused([](auto& o) { o.backoff.factor = 0; }),
              StatusIs(code, HasSubstr("backoff.factor: 0")));
  EXPECT_THAT(refused([](auto& o) { o.keepalive_interval = milliseconds(9999); }),
              StatusIs(code, HasSubstr("keepalive_interval: 9999 ms is not accepted; "
                                       "accepted: 10000 to 2147483647 ms")));
  EXPECT_THAT(refused([](auto& o) { o.keepalive_timeout = milliseconds(0); }),
              StatusIs(code, HasSubstr("keepalive_timeout: 0 ms")));
  EXPECT_THAT(refused([](auto& o) { o.call_timeout = milliseconds::max(); }),
              StatusIs(code, HasSubstr("accepted: 1 to 3155760000000 ms")));
  EXPECT_THAT(refused([](auto& o) { o.keepalive_interval = milliseconds::max(); }),
              StatusIs(code, HasSubstr("accepted: 10000 to 2147483647 ms")));
  EXPECT_THAT(refused([](auto& o) { o.keepalive_timeout = milliseconds::max(); }),
              StatusIs(code, HasSubstr("accepted: 1 to 2147483647 ms")));
  EXPECT_THAT(refused([](auto& o) { o.max_message_bytes = 0; }),
              StatusIs(code, HasSubstr("max_message_bytes: 0")));
  EXPECT_THAT(refused([](auto& o) { o.clock = nullptr; }),
              StatusIs(code, HasSubstr("clock, sleeper: null")));
  EXPECT_THAT(refused([](auto& o) { o.sleeper = nullptr; }),
              StatusIs(code, HasSubstr("clock, sleeper: null")));
}

}  // namespace
}  // namespace evenpack::client
