#include "server/app/advertised_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::kInvalid;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(AdvertisedAddressTest, WhatIsToldGoesBeforeWhatIsListenedOn) {
  struct Case {
    const char* advertise;
    const char* listening;
    const char* number;
    const char* address;
  };
  const Case cases[] = {{"", "127.0.0.1:7654", "127.0.0.1", "127.0.0.1:7654"},
                        {"", "[::1]:7654", "::1", "[::1]:7654"},
                        {"", "node-3:7654", "192.0.2.3", "node-3:7654"},
                        {"", "127.1:7654", "127.0.0.1", "127.1:7654"},
                        {"node-3", "0.0.0.0:7654", "::", "node-3:7654"},
                        {"node-3:0", "0.0.0.0:7654", "0.0.0.0", "node-3:7654"},
                        {"node-3:443", "0.0.0.0:7654", "::", "node-3:443"},
                        {"[fe80::1]", "[::]:7654", "::", "[fe80::1]:7654"},
                        {"[fe80::1]:443", "[::]:7654", "::", "[fe80::1]:443"}};
  for (const Case& each : cases) {
    EXPECT_EQ(AdvertisedAddress(each.advertise, each.listening, each.number).value(),
              each.address);
  }
}

TEST(AdvertisedAddressTest, AWildcardIsNoAddressHoweverItIsWritten) {
  for (const auto& [host, number] : {std::pair{"0.0.0.0", "0.0.0.0"},
                                     {"0.0.0.0", "::"},
                                     {"0", "0.0.0.0"},
                                     {"*", "0.0.0.0"},
                                     {"[::]", "::"},
                                     {"[::0]", "::"},
                                     {"[::ffff:0.0.0.0]", "::ffff:0.0.0.0"}}) {
    EXPECT_THAT(AdvertisedAddress("", std::string(host) + ":7654", number).value(),
                AllOf(EndsWith(":7654"), Not(StartsWith(host))));
  }
}

TEST(AdvertisedAddressTest, WhatIsNoAddressIsRefusedAsItWasWritten) {
  for (const char* advertise :
       {":7654", "a b", "a b:1", "node:70000", "fe80::1", "node:x", "[node]"}) {
    const absl::Status status =
        AdvertisedAddress(advertise, "127.0.0.1:7654", "127.0.0.1").status();
    EXPECT_EQ(status, ParseAdvertised(advertise).status());
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("accepted: HOST, HOST:PORT")));
    EXPECT_THAT(status.message(), HasSubstr("'" + std::string(advertise) + "' is not"));
    EXPECT_EQ(RefusedField(status), "advertise");
  }
}

}  // namespace
}  // namespace evenpack
