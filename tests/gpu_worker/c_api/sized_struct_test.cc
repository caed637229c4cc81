#include "gpu_worker/c_api/sized_struct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;

struct Old {
  size_t struct_size;
  uint64_t number;
};
struct New {
  Old old;
  uint64_t more;
};

TEST(SizedStructTest, OneOfThisVersionIsRead) {
  const Old given{sizeof(Old), 7};
  EXPECT_THAT(CheckInput("options", &given), IsOk());
}

TEST(SizedStructTest, OneThatIsTooSmallIsRefused) {
  const Old given{8, 7};
  EXPECT_THAT(CheckInput("options", &given),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "options.struct_size: 8 is not accepted; accepted: 16 to 4096"));
  const Old* const none = nullptr;
  EXPECT_THAT(CheckInput("options", none),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "options: NULL is not accepted; accepted: a struct"));
}

// As where the size was not set: what it says is neither read nor written.
TEST(SizedStructTest, OneThatIsTooLargeIsRefused) {
  for (const size_t size : {size_t{4097}, size_t{0x7f0000001000}, ~size_t{0}}) {
    Old given{size, 7};
    const auto is_refused =
        StatusIs(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("step.struct_size: ", size,
                              " is not accepted; accepted: 16 to 4096"));
    EXPECT_THAT(CheckInput("step", &given), is_refused);
    EXPECT_THAT(CheckOutput("step", &given), is_refused);
    EXPECT_EQ(given.number, 7U);
  }
}

TEST(SizedStructTest, ANewerOneIsReadWhereWhatIsNewIsNotSet) {
  New given{{sizeof(New), 7}, 0};
  EXPECT_THAT(CheckInput("options", &given.old), IsOk());
  given.more = uint64_t{1} << 63;
  EXPECT_THAT(CheckInput("options", &given.old),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "options.struct_size: 24 is not accepted; accepted: 16, or 0 in "
                       "the fields that this library lacks"));
}

TEST(SizedStructTest, ANewerOneIsWrittenWithNothingInWhatIsNew) {
  New given{{sizeof(New), 7}, 9};
  EXPECT_THAT(CheckOutput("step", &given.old), IsOk());
  EXPECT_EQ(given.old.struct_size, sizeof(New));
  EXPECT_EQ(given.old.number, 0U);
  EXPECT_EQ(given.more, 0U);
}

}  // namespace
}  // namespace evenpack::worker
