#include "client/cpp/server_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;

TEST(ServerAddresses, AreSeparatedByCommas) {
  const auto one = ServerAddresses("address", "unix:/run/evenpack.sock");
  ASSERT_THAT(one, IsOk());
  EXPECT_THAT(*one, ElementsAre("unix:/run/evenpack.sock"));
  const auto three = ServerAddresses("address", "b:1,a:1,[::1]:7654");
  ASSERT_THAT(three, IsOk());
  EXPECT_THAT(*three, ElementsAre("b:1", "a:1", "[::1]:7654"));
}

TEST(ServerAddresses, MayHaveAScheme) {
  for (const std::string text : {"dns:server", "ipv4:127.0.0.1:7654", "ipv6:[::1]:7654",
                                 "unix-abstract:evenpack"}) {
    EXPECT_THAT(ServerAddresses("address", text), IsOk()) << text;
  }
}

TEST(ServerAddresses, RefusesWhatNamesNoPortOrIsThereTwiceNamingTheField) {
  for (const std::string text :
       {"", ",", "a:1,", ",a:1", "a:1,,b:1", "a:1, b:1", "a:1,b:1,a:1", "a", ":1",
        "a:", "a:0", "a:65536", "a:http", "unix:", "a:1,b", "::1:7654", "fe80::1",
        "http://a:7654", "[::1]:0"}) {
    EXPECT_THAT(
        ServerAddresses("--server", text),
        StatusIs(kInvalid, "--server: '" + text +
                               "' is not accepted; accepted: "
                               "HOST:PORT, [IPV6]:PORT or unix:PATH, or several "
                               "with commas between them, each of them once"));
  }
}

TEST(ServerAddresses, AreShownOnOneLine) {
  EXPECT_THAT(ServerAddresses("--server", "a\nb"),
              StatusIs(kInvalid, ::testing::HasSubstr("--server: 'a\\nb'")));
}

}  // namespace
}  // namespace evenpack::client
