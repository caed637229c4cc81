#include "server/runtime/status_detail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/cord.h"

namespace evenpack {
namespace {

using ::testing::IsEmpty;

TEST(StatusDetailTest, ReasonAndValuesComeBackAndCodeAndMessageStay) {
  const StatusDetail detail = {"STEP_LET_GO",
                               {{"oldest_step", "7"}, {"empty", ""}, {"a b=c", "\n"}}};
  const absl::Status status =
      WithDetail(absl::OutOfRangeError("step: 3 was let go"), detail);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(std::string(status.message()), "step: 3 was let go");
  EXPECT_EQ(DetailOf(status), detail);
}

TEST(StatusDetailTest, AStatusWithoutDetailHasAnEmptyOne) {
  const absl::Status status = absl::InternalError("x");
  EXPECT_EQ(DetailOf(status), StatusDetail());
  EXPECT_EQ(DetailOf(absl::OkStatus()), StatusDetail());
}

TEST(StatusDetailTest, ALaterDetailTakesThePlaceOfTheWholeEarlierOne) {
  absl::Status status =
      WithDetail(absl::AbortedError("x"), {"OLD", {{"a", "1"}, {"b", "2"}}});
  status = WithDetail(status, {"NEW", {{"b", "3"}}});
  EXPECT_EQ(DetailOf(status), (StatusDetail{"NEW", {{"b", "3"}}}));
}

TEST(StatusDetailTest, OtherPayloadsAreNoPartOfItAndStay) {
  absl::Status status = absl::InvalidArgumentError("x");
  status.SetPayload("evenpack.field", absl::Cord("name"));
  EXPECT_EQ(DetailOf(status), StatusDetail());
  status = WithDetail(status, {"BAD_NAME", {}});
  EXPECT_EQ(DetailOf(status).reason, "BAD_NAME");
  EXPECT_THAT(DetailOf(status).values, IsEmpty());
  EXPECT_EQ(status.GetPayload("evenpack.field"), absl::Cord("name"));
}

}  // namespace
}  // namespace evenpack
