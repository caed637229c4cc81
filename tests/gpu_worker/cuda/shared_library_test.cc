#include "gpu_worker/cuda/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const LibraryName kName = {"the double", "libnone.so.7", "EVENPACK_TEST_LIBRARY"};

TEST(SharedLibraryTest, IsFoundByItsPathByAVariableOrByItsName) {
  const auto by_path = SharedLibrary::Open(kName, EVENPACK_FAKE_CUDA);
  ASSERT_THAT(by_path, IsOk());
  EXPECT_EQ(by_path->path(), EVENPACK_FAKE_CUDA);
  setenv("EVENPACK_TEST_LIBRARY", EVENPACK_FAKE_CUDA, 1);
  const auto by_variable = SharedLibrary::Open(kName, "");
  unsetenv("EVENPACK_TEST_LIBRARY");
  ASSERT_THAT(by_variable, IsOk());
  EXPECT_EQ(by_variable->path(), EVENPACK_FAKE_CUDA);
  EXPECT_THAT(SharedLibrary::Open({"C", "libc.so.6", "EVENPACK_TEST_LIBRARY"}, ""),
              IsOk());
}

TEST(SharedLibraryTest, SaysWhatItLookedForWhereThereIsNone) {
  EXPECT_THAT(SharedLibrary::Open(kName, "").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("the double can't be loaded: libnone.so.7"),
                             HasSubstr("a file named by EVENPACK_TEST_LIBRARY"))));
  EXPECT_THAT(
      SharedLibrary::Open(kName, "/nowhere/lib.so").status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/nowhere/lib.so")));
}

TEST(SharedLibraryTest, AFunctionThatIsMissingIsNamed) {
  const auto library = SharedLibrary::Open(kName, EVENPACK_FAKE_CUDA);
  ASSERT_THAT(library, IsOk());
  int (*found)(unsigned) = nullptr;
  EXPECT_THAT(library->Find("cuInit", found), IsOk());
  EXPECT_EQ(found(0), 0);
  EXPECT_THAT(library->Find("cuOfTheFuture", found),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has no function cuOfTheFuture; accepted: a newer")));
}

}  // namespace
}  // namespace evenpack::worker
