#include "gpu_worker/nccl/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class NcclLibraryTest : public evenpack::testing::FakeNcclTest {};

TEST_F(NcclLibraryTest, HasEveryFunction) {
  const auto library = NcclLibrary::Load(EVENPACK_FAKE_NCCL);
  ASSERT_THAT(library, IsOk());
  EXPECT_EQ((*library)->version(), 22809);
  const nccl::Functions& functions = (*library)->functions();
#define EVENPACK_EXPECT(type, symbol, parameters) EXPECT_NE(functions.symbol, nullptr);
  EVENPACK_NCCL_FUNCTIONS(EVENPACK_EXPECT)
#undef EVENPACK_EXPECT
}

TEST_F(NcclLibraryTest, OneThatIsTooOldOrNoneIsRefused) {
  fakeNcclSetVersion(21705);
  EXPECT_THAT(NcclLibrary::Load(EVENPACK_FAKE_NCCL).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is of version 2.17.5; accepted: 2.18.0 and later")));
  EXPECT_THAT(NcclLibrary::Load("/nowhere/libnccl.so.2").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("NCCL can't be loaded: /nowhere/libnccl.so.2")));
  EXPECT_THAT(NcclLibrary::Load(EVENPACK_FAKE_CUDA).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has no function ncclGetVersion")));
}

// Wherever it is installed, with a device or without.
TEST_F(NcclLibraryTest, TheRealOneIsAccepted) {
  const auto library = NcclLibrary::Load();
  if (!library.ok()) GTEST_SKIP() << library.status();
  EXPECT_GE((*library)->version(), nccl::kOldestVersion);
}

TEST_F(NcclLibraryTest, ErrorsTellPeersFromThisRank) {
  const auto library = Library();
  EXPECT_THAT(library->Check(nccl::kSuccess, "x"), IsOk());
  EXPECT_THAT(library->Check(nccl::kInProgress, "x"), IsOk());
  EXPECT_THAT(library->Check(nccl::kRemoteError, "to connect"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("NCCL failed to connect: remote process exited")));
  EXPECT_THAT(library->Check(nccl::kSystemError, "to connect"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("system error")));
  EXPECT_THAT(library->Check(nccl::kInternalError, "to connect"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("internal error")));
}

}  // namespace
}  // namespace evenpack::worker
