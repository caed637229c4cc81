#include "gpu_worker/app/security_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_worker/app/worker_options.h"
#include "tests/testing/status_matchers.h"

// What the flags mean together, and files: client/cpp/security_flags_test.cc.
namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

const Arguments kAgent = {"--agent", "--server", "packer:1", "--listen", "unix:/a"};
const Arguments kServe = {"--serve", "--server", "packer:1", "--socket-folder", "/tmp"};
const Arguments kUpload = {"--profile", "--upload", "packer:1", "--name", "n"};

Arguments Joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(SecurityOptionsTest, AreThoseOfEveryModeThatReachesAServer) {
  for (const Arguments& mode : {kAgent, kServe, kUpload}) {
    const auto command =
        ReadWorkerCommand(Joined(mode, {"--tls", "--tls-server-name", "flag"}),
                          {{"EVENPACK_TLS_SERVER_NAME", "variable"}});
    ASSERT_THAT(command, IsOk());
    EXPECT_TRUE(command->options.security.tls);
    EXPECT_EQ(command->options.security.server_name, "flag");
  }
}

TEST(SecurityOptionsTest, TheEnvironmentStandsForFlagsThatAreNotGiven) {
  const auto command = ReadWorkerCommand(
      kServe, {{"EVENPACK_TLS", "1"}, {"EVENPACK_TLS_SERVER_NAME", "variable"}});
  ASSERT_THAT(command, IsOk());
  EXPECT_TRUE(command->options.security.tls);
  EXPECT_EQ(command->options.security.server_name, "variable");
}

TEST(SecurityOptionsTest, WhatIsWrongIsNamedAsItWasGiven) {
  EXPECT_THAT(
      ReadWorkerCommand(Joined(kServe, {"--tls-ca", "/none"})),
      StatusIs(absl::StatusCode::kInvalidArgument, StartsWith("--tls-ca: '/none'")));
  EXPECT_THAT(ReadWorkerCommand(kServe, {{"EVENPACK_TOKEN_FILE", "/none"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("EVENPACK_TOKEN_FILE: '/none'")));
}

TEST(SecurityOptionsTest, WithoutAServerFlagsAreRefusedAndVariablesAreNot) {
  for (const Arguments& mode : {Arguments{"--selftest"}, Arguments{"--profile"}}) {
    EXPECT_THAT(ReadWorkerCommand(Joined(mode, {"--tls-ca", "/none"})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--tls-ca: requires --serve, --agent or --upload")));
    EXPECT_THAT(ReadWorkerCommand(mode, {{"EVENPACK_TLS_CA", "/none"}}), IsOk());
  }
}

TEST(SecurityOptionsTest, HelpHasAGroupOfThem) {
  EXPECT_THAT(ReadWorkerCommand({"--help"})->text,
              AllOf(HasSubstr("Security:"), HasSubstr("--tls-certificate FILE"),
                    HasSubstr("$EVENPACK_TOKEN_FILE"), HasSubstr("--insecure")));
}

}  // namespace
}  // namespace evenpack::worker
