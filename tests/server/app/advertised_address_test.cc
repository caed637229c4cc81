#include "server/app/advertised_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
    const char* address;
  };
  const Case cases[] = {{"", "127.0.0.1:7654", "127.0.0.1:7654"},
                        {"", "[::1]:7654", "[::1]:7654"},
                        {"node-3", "0.0.0.0:7654", "node-3:7654"},
                        {"node-3:0", "0.0.0.0:7654", "node-3:7654"},
                        {"node-3:443", "0.0.0.0:7654", "node-3:443"},
                        {"[fe80::1]", "[::]:7654", "[fe80::1]:7654"},
                        {"[fe80::1]:443", "[::]:7654", "[fe80::1]:443"}};
  for (const Case& each : cases) {
    EXPECT_EQ(AdvertisedAddress(each.advertise, each.listening).value(), each.address);
  }
}

TEST(AdvertisedAddressTest, AWildcardIsNoAddress) {
  for (const char* listening : {"0.0.0.0:7654", "[::]:7654"}) {
    EXPECT_THAT(
        AdvertisedAddress("", listening).value(),
        AllOf(EndsWith(":7654"), Not(StartsWith("0.0.0.0")), Not(StartsWith("["))));
  }
}

TEST(AdvertisedAddressTest, WhatIsNoAddressIsRefused) {
  for (const char* advertise : {":7654", "a b:1", "node:70000", "fe80::1", "node:x"}) {
    const absl::Status status = AdvertisedAddress(advertise, "127.0.0.1:7654").status();
    EXPECT_THAT(status, StatusIs(kInvalid, HasSubstr("HOST:PORT")));
    EXPECT_EQ(RefusedField(status), "advertise");
  }
}

}  // namespace
}  // namespace evenpack
