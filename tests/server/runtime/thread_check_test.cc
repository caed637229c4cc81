#include "server/runtime/thread_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/little_memory.h"
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
  if (!testing::LittleMemory::IsPossible()) GTEST_SKIP();
  absl::Status status;
  {
    const testing::LittleMemory little;
    status = CheckThreads(100);
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("of 100 could be made: Resource temporarily"),
                             HasSubstr("ulimit -u"), HasSubstr("ulimit -v"))));
  EXPECT_THAT(CheckThreads(100), IsOk());
}

}  // namespace
}  // namespace evenpack
