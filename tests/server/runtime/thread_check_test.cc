#include "server/runtime/thread_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/testing/spared_rounds.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(ThreadCheckTest, ThreadsThatCanBeMadeAreGoneAgain) {
  for (int i = 0; i < 3; ++i) EXPECT_THAT(CheckThreads(40), IsOk());
}

TEST(ThreadCheckTest, SaysWhichLimitsThereAreWhereSomeCanNotBe) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  // Of stacks that are there at once.
  const rlimit little = {rlim_t{400} << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const absl::Status status = CheckThreads(100);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of 100 could be made: Resource temporarily"),
                             HasSubstr("ulimit -u"), HasSubstr("ulimit -v"))));
  EXPECT_THAT(CheckThreads(100), IsOk());
}

}  // namespace
}  // namespace evenpack
