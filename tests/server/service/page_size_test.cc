#include "server/service/page_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

TEST(PageSizeTest, IsWhatIsAskedForWithinBounds) {
  for (const auto& [asked, size] :
       {std::pair{0, 100}, {1, 1}, {999, 999}, {1000, 1000}, {1001, 1000}}) {
    EXPECT_EQ(PageSize(asked).value(), size) << asked;
  }
}

TEST(PageSizeTest, RefusesLessThanNothing) {
  EXPECT_THAT(
      PageSize(-1),
      testing::StatusIs(
          testing::kInvalid,
          ::testing::StrEq("page_size: -1 is not accepted; accepted: 0 or more")));
}

}  // namespace
}  // namespace evenpack
