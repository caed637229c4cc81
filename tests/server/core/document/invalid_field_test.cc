#include "server/core/document/invalid_field.h"

#include <gtest/gtest.h>

namespace evenpack {
namespace {

TEST(InvalidFieldTest, NamesFieldValueAndWhatIsAccepted) {
  EXPECT_EQ(InvalidField("window", 0, "1 to 10"),
            absl::InvalidArgumentError("window: 0 is not accepted; accepted: 1 to 10"));
}

}  // namespace
}  // namespace evenpack
