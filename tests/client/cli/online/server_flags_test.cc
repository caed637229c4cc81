#include "client/cli/online/server_flags.h"

#include <gmock/gmock.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(ServerFlagsTest, HaveDefaults) {
  const auto flags = ReadServerFlags({}, kDefaultServer);
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->address, "127.0.0.1:7654");
  EXPECT_EQ(flags->timeout, milliseconds(30'000));
}

TEST(ServerFlagsTest, TakeAddressesOfEachKind) {
  for (const char* const address : {"packer:1", "10.0.0.1:65535", "[::1]:7654",
                                    "unix:/run/evenpack.sock", "a:1,b:1,[::1]:1"}) {
    const auto flags = ReadServerFlags({{"--server", address}}, "ignored");
    ASSERT_THAT(flags, IsOk());
    EXPECT_EQ(flags->address, address);
  }
}

TEST(ServerFlagsTest, RefuseWhatIsNoAddress) {
  for (const char* const address :
       {"packer", "packer:0", "packer:1,other", "a:1,a:1"}) {
    EXPECT_THAT(ReadServerFlags({{"--server", address}}, "h:1"),
                StatusIs(kInvalid, HasSubstr("--server: '" + std::string(address) +
                                             "' is not accepted; accepted: HOST:PORT, "
                                             "[IPV6]:PORT or unix:PATH")));
  }
  EXPECT_THAT(ReadServerFlags({}, "packer"),
              StatusIs(kInvalid, HasSubstr("EVENPACK_SERVER: 'packer'")));
  EXPECT_THAT(ReadServerFlags({{"--timeout", "-1"}}, "h:1"),
              StatusIs(kInvalid, HasSubstr("--timeout: '-1'")));
}

TEST(ServerFlagsTest, TheTimeoutBoundsTryingAndEachAttempt) {
  const auto options = [](const char* timeout) {
    return ClientOptionsOf(*ReadServerFlags({{"--timeout", timeout}}, "h:1"));
  };
  EXPECT_EQ(options("2.5").backoff.total, milliseconds(2'500));
  EXPECT_EQ(options("2.5").call_timeout, milliseconds(2'500));
  EXPECT_EQ(options("60").call_timeout, milliseconds(10'000));
  EXPECT_EQ(options("0").backoff.total, milliseconds(0));
  EXPECT_EQ(options("0").call_timeout, milliseconds(100));
  for (const char* const timeout : {"0", "2.5", "1000000"}) {
    EXPECT_THAT(Validate(options(timeout)), IsOk());
  }
}

}  // namespace
}  // namespace evenpack
