#include "server/core/document/invalid_field.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::StatusIs;

TEST(InvalidFieldTest, NamesFieldValueAndWhatIsAccepted) {
  EXPECT_THAT(InvalidField("window", 0, "1 to 10"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "window: 0 is not accepted; accepted: 1 to 10"));
}

TEST(InvalidFieldTest, ANumberHasTheDigitsThatTellItFromWhatIsAccepted) {
  EXPECT_THAT(InvalidField("backoff.factor", 0.99999999, "at least 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "backoff.factor: 0.99999999 is not accepted; accepted: at "
                       "least 1"));
  EXPECT_THAT(InvalidField("wait", std::numeric_limits<double>::quiet_NaN(), "0 to 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "wait: nan is not accepted; accepted: 0 to 1"));
  EXPECT_THAT(InvalidField("wait", -1e300, "0 to 1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "wait: -1e+300 is not accepted; accepted: 0 to 1"));
}

TEST(InvalidFieldTest, TheRefusedFieldCanBeReadBack) {
  EXPECT_EQ(RefusedField(InvalidField("streams[3].name", "''", "1 to 256 bytes")),
            "streams[3].name");
  EXPECT_EQ(RefusedField(absl::OkStatus()), "");
  EXPECT_EQ(RefusedField(absl::InvalidArgumentError("window: 0 is not accepted")), "");
}

TEST(CheckRangeTest, RefusesWhatIsOutside) {
  for (const int64_t value : {-2, 0, 7}) {
    EXPECT_THAT(CheckRange("launch_ns", value, -2, 7), IsOk());
  }
  EXPECT_THAT(CheckRange("launch_ns", int64_t{-3}, -2, 7),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "launch_ns: -3 is not accepted; accepted: -2 to 7"));
  const absl::Status above =
      CheckRange("steps", std::numeric_limits<uint64_t>::max(), 1, uint64_t{1} << 32);
  EXPECT_THAT(above, StatusIs(absl::StatusCode::kInvalidArgument,
                              "steps: 18446744073709551615 is not accepted; accepted: "
                              "1 to 4294967296"));
  EXPECT_EQ(RefusedField(above), "steps");
}

TEST(CheckBytesTest, RefusesWhatIsTooShortOrTooLong) {
  EXPECT_THAT(CheckBytes("member", "ab", 2, 3), IsOk());
  EXPECT_THAT(CheckBytes("member", "abc", 2, 3), IsOk());
  for (const char* value : {"a", "abcd"}) {
    EXPECT_EQ(RefusedField(CheckBytes("member", value, 2, 3)), "member");
  }
  EXPECT_THAT(CheckBytes("member", "", 1, 256),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "member: 0 bytes is not accepted; accepted: 1 to 256 bytes"));
}

}  // namespace
}  // namespace evenpack
