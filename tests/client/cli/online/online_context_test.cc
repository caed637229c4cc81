#include "client/cli/online/online_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli/online/test_context.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestContext;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(OnlineContextTest, ConnectsWithTheSecurityOfFlagsElseOfTheEnvironment) {
  TestContext context;
  context.security_variables = {{"EVENPACK_TLS", "1"},
                                {"EVENPACK_TLS_SERVER_NAME", "variable"}};
  EXPECT_THAT(Connect({{"--server", "packer:1"}}, context.Get()), IsOk());
  EXPECT_EQ(context.security,
            (client::Security{.tls = true, .server_name = "variable"}));
  EXPECT_THAT(
      Connect({{"--server", "packer:1"}, {"--tls-server-name", "flag"}}, context.Get()),
      IsOk());
  EXPECT_EQ(context.security.server_name, "flag");
}

TEST(OnlineContextTest, SecurityThatCannotWorkIsNamedAsItWasGiven) {
  TestContext context;
  EXPECT_THAT(Connect({{"--tls-ca", "/none"}}, context.Get()).status(),
              StatusIs(kInvalid, StartsWith("--tls-ca: '/none'")));
  context.security_variables = {{"EVENPACK_TOKEN_FILE", "/none"}};
  EXPECT_THAT(Connect({{"--server", "packer:1"}}, context.Get()).status(),
              StatusIs(kInvalid, StartsWith("EVENPACK_TOKEN_FILE: '/none'")));
  EXPECT_THAT(context.servers, IsEmpty());
}

}  // namespace
}  // namespace evenpack
