#include "server/web/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(ListenAddressTest, ReadsAndWritesWhatIsAccepted) {
  const struct {
    const char* text;
    const char* host;
    uint16_t port;
  } cases[] = {
      {"127.0.0.1:0", "127.0.0.1", 0},
      {"localhost:9090", "localhost", 9090},
      {"0.0.0.0:65535", "0.0.0.0", 65535},
      {"[::1]:80", "::1", 80},
      {"[::]:1", "::", 1},
      {"node-7.rack.example:443", "node-7.rack.example", 443},
  };
  for (const auto& [text, host, port] : cases) {
    const absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
    ASSERT_THAT(address, IsOk()) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
    EXPECT_EQ(FormatAddress(*address), text);
  }
}

TEST(ListenAddressTest, RefusesTheRestAndNamesIt) {
  for (const std::string text : {"",
                                 ":",
                                 "9090",
                                 ":9090",
                                 "localhost",
                                 "localhost:",
                                 "localhost:http",
                                 "localhost:65536",
                                 "localhost:-1",
                                 "localhost:+1",
                                 "localhost: 1",
                                 "::1:80",
                                 "[::1]",
                                 "[::1]80",
                                 "[]:80",
                                 "[localhost]:80",
                                 "a b:80",
                                 "[::1:80",
                                 "http://localhost:80",
                                 "localhost:80/"}) {
    EXPECT_THAT(ParseListenAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("http-listen: '" + text + "' is not accepted"),
                               HasSubstr("HOST:PORT or [IPV6]:PORT"))));
  }
}

TEST(ListenAddressTest, LoopbackIsWhatNoOtherMachineReaches) {
  for (const char* host :
       {"localhost", "127.0.0.1", "127.1", "127.255.255.254", "::1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host :
       {"", "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "127", "packer", "127.example",
        "localhost.example", "::ffff:127.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace evenpack
