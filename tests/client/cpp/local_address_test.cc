#include "client/cpp/local_address.h"

#include <gtest/gtest.h>

namespace evenpack::client {
namespace {

TEST(IsLocalAddress, KnowsThisMachine) {
  for (const char* const address :
       {"localhost:7654", "127.0.0.1:7654", "127.255.0.9:1", "[::1]:7654",
        "unix:/run/evenpack.sock", "unix:///run/evenpack.sock", "unix-abstract:name",
        "ipv4:127.0.0.1:1", "ipv6:[::1]:1", "localhost:1,127.0.0.1:2,unix:/a"}) {
    EXPECT_TRUE(IsLocalAddress(address)) << address;
  }
}

TEST(IsLocalAddress, TakesNothingElseForIt) {
  for (const char* const address :
       {"", ":7654", "localhost", "packer:7654", "0.0.0.0:7654", "10.0.0.1:7654",
        "[::]:7654", "[::1:7654", "127.0.0.1.example:7654", "127.1:7654",
        "localhost.example:7654", "dns:///localhost:7654",
        "unix:", "[::ffff:10.0.0.1]:1", "localhost:1,packer:2", "localhost:1,"}) {
    EXPECT_FALSE(IsLocalAddress(address)) << address;
  }
}

}  // namespace
}  // namespace evenpack::client
