#include "server/service/field_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::StatusIs;

TEST(FieldPathTest, APathIsPutTogetherFromInsideOut) {
  absl::Status status = InvalidField("name", "'x'", "7B");
  status = Under("spec", Under("cost", Under("analytic.model", status)));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "spec.cost.analytic.model.name: 'x' is not accepted; accepted: "
                       "7B"));
  EXPECT_EQ(RefusedField(status), "spec.cost.analytic.model.name");
}

TEST(FieldPathTest, AFieldIsRenamedInMessageAndPayload) {
  const absl::Status status = Renamed(
      "spec.parallelism.data", InvalidField("data_parallel", 3, "data_parallel"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "spec.parallelism.data: 3 is not accepted; accepted: "
                               "data_parallel"));
  EXPECT_EQ(RefusedField(status), "spec.parallelism.data");
}

TEST(FieldPathTest, DetailsStay) {
  const absl::Status status =
      Under("spec", WithDetail(InvalidField("a", 1, "2"), {"BAD", {{"x", "y"}}}));
  EXPECT_EQ(DetailOf(status), (StatusDetail{"BAD", {{"x", "y"}}}));
  EXPECT_EQ(RefusedField(status), "spec.a");
}

TEST(FieldPathTest, AStatusThatRefusesNoFieldIsAsItWas) {
  const absl::Status status = absl::AbortedError("epoch: old");
  EXPECT_EQ(Under("spec", status), status);
  EXPECT_EQ(Renamed("spec", status), status);
  EXPECT_EQ(Under("spec", absl::OkStatus()), absl::OkStatus());
}

TEST(FieldPathTest, AResultIsPassedOn) {
  EXPECT_EQ(InField<int>("spec", 7).value(), 7);
  EXPECT_EQ(RefusedField(InField<int>("spec", InvalidField("a", 1, "2")).status()),
            "spec.a");
}

}  // namespace
}  // namespace evenpack
