#include "server/service/service_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ServiceEnvironmentTest, ErrorsAreCountedByCode) {
  ErrorCounts errors;
  errors.Count(absl::NotFoundError("x"));
  errors.Count(absl::NotFoundError("y"));
  errors.Count(absl::UnauthenticatedError("z"));
  errors.Count(absl::OkStatus());
  const auto figures = errors.Figures();
  for (size_t code = 0; code < figures.size(); ++code) {
    EXPECT_EQ(figures[code], code == 5 ? 2U : code == 16 ? 1U : 0U) << code;
  }
}

TEST(ServiceEnvironmentTest, StatusesOfTheServerItself) {
  EXPECT_THAT(Draining(), StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("server: it is shutting down")));
  EXPECT_EQ(DetailOf(Draining()).reason, "DRAINING");
  EXPECT_TRUE(absl::IsUnavailable(Starting()));
  EXPECT_EQ(DetailOf(Starting()).reason, "STARTING");
  const absl::Status full = TooManyCalls(LiveCalls(7));
  EXPECT_THAT(
      full, StatusIs(absl::StatusCode::kResourceExhausted,
                     "calls: there are 7 of this kind, as many as this server holds"));
  EXPECT_EQ(DetailOf(full), (StatusDetail{"TOO_MANY_CALLS", {{"limit", "7"}}}));
}

}  // namespace
}  // namespace evenpack
