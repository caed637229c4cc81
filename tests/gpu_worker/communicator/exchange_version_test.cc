#include "gpu_worker/communicator/exchange_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExchangeVersionTest, AddressesOfOneVersionAreWhatTheyWere) {
  const std::string bytes("\0:x", 3);
  EXPECT_THAT(Unversioned({Versioned("a"), Versioned(bytes), Versioned("")}).value(),
              ElementsAre("a", bytes, ""));
  EXPECT_NE(Versioned("a"), Versioned("b"));
}

TEST(ExchangeVersionTest, AWorkerOfAnotherVersionIsNamed) {
  for (const std::string& other :
       {std::string("10.0.0.7:4000"), std::string("exchange-1:a"), std::string()}) {
    EXPECT_THAT(
        Unversioned({Versioned("a"), other}).status(),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 HasSubstr("addresses[1]: the worker of cp_rank 1 is of another "
                           "version of Evenpack")));
  }
}

}  // namespace
}  // namespace evenpack::worker
