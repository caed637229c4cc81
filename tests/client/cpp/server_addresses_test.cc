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

TEST(ServerAddresses, RefusesWhatIsEmptyOrThereTwiceNamingTheField) {
  for (const std::string text :
       {"", ",", "a:1,", ",a:1", "a:1,,b:1", "a:1, b:1", "a:1,b:1,a:1"}) {
    EXPECT_THAT(ServerAddresses("--server", text),
                StatusIs(kInvalid, "--server: '" + text +
                                       "' is not accepted; accepted: "
                                       "HOST:PORT[,HOST:PORT...], each of them once"));
  }
}

}  // namespace
}  // namespace evenpack::client
