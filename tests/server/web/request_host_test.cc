#include "server/web/request_host.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(RequestHostTest, AddressesAndNamesWithoutDotsAreItsOwn) {
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:7655", "10.1.2.3:80", "[::1]",
                           "[::1]:7655", "localhost", "localhost:7655", "LOCALHOST",
                           "run.localhost:7655", "evenpack:7655"}) {
    EXPECT_TRUE(IsOwnHost(host)) << host;
  }
}

TEST(RequestHostTest, NamesThatAnybodyMayHoldAreNot) {
  for (const char* host : {"example.com", "example.com:7655", "127.0.0.1.example.com",
                           "localhost.", "localhost.example.com", "notlocalhost.com",
                           "1.2.3.4.nip.io:80", "127.0.0.1@example.com"}) {
    EXPECT_FALSE(IsOwnHost(host)) << host;
  }
}

}  // namespace
}  // namespace evenpack
