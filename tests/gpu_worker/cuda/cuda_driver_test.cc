#include "gpu_worker/cuda/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class CudaDriverTest : public evenpack::testing::FakeDeviceTest {};

TEST_F(CudaDriverTest, HasEveryFunction) {
  const auto driver = CudaDriver::Load(EVENPACK_FAKE_CUDA);
  ASSERT_THAT(driver, IsOk());
  EXPECT_EQ((*driver)->version(), 13000);
  const cuda::Functions& functions = (*driver)->functions();
#define EVENPACK_EXPECT(symbol, parameters) EXPECT_NE(functions.symbol, nullptr);
  EVENPACK_CUDA_FUNCTIONS(EVENPACK_EXPECT)
  EVENPACK_CUDA_EDGE_FUNCTIONS(EVENPACK_EXPECT)
#undef EVENPACK_EXPECT
}

// Which its driver lacks.
TEST_F(CudaDriverTest, OneOfAnOlderVersionIsNotAskedForAGraphsEdges) {
  fakeCudaSetVersion(12020);
  const auto driver = CudaDriver::Load(EVENPACK_FAKE_CUDA);
  ASSERT_THAT(driver, IsOk());
  const cuda::Functions& functions = (*driver)->functions();
  EXPECT_NE(functions.cuLaunchKernel, nullptr);
  EXPECT_EQ(functions.cuGraphGetEdges_v2, nullptr);
  EXPECT_EQ(functions.cuGraphAddDependencies_v2, nullptr);
  EXPECT_EQ(functions.cuGraphRemoveDependencies_v2, nullptr);
  fakeCudaSetVersion(12030);
  EXPECT_NE(
      CudaDriver::Load(EVENPACK_FAKE_CUDA).value()->functions().cuGraphGetEdges_v2,
      nullptr);
}

TEST_F(CudaDriverTest, OneThatIsTooOldOrNoneIsRefused) {
  fakeCudaSetVersion(12000);
  EXPECT_THAT(CudaDriver::Load(EVENPACK_FAKE_CUDA).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is for version 12000 of CUDA; accepted: 12010")));
  EXPECT_THAT(CudaDriver::Load("/nowhere/libcuda.so.1").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the CUDA driver can't be loaded: /nowhere")));
  // A library, but not this one.
  EXPECT_THAT(CudaDriver::Load("libc.so.6").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'libc.so.6', has no function cuInit")));
}

TEST_F(CudaDriverTest, ErrorsHaveTheDriversNames) {
  const auto driver = CudaDriver::Load(EVENPACK_FAKE_CUDA).value();
  EXPECT_THAT(driver->Check(cuda::kSuccess, "to begin"), IsOk());
  EXPECT_THAT(driver->Check(cuda::kInvalidHandle, "to copy"),
              StatusIs(absl::StatusCode::kInternal,
                       "the device failed to copy: CUDA_ERROR_INVALID_HANDLE (400)"));
  EXPECT_THAT(driver->Check(cuda::kOutOfMemory, "to give"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the device failed to give: CUDA_ERROR_OUT_OF_MEMORY (2)"));
  EXPECT_THAT(driver->Check(98765, "to copy"),
              StatusIs(absl::StatusCode::kInternal,
                       "the device failed to copy: an unknown error (98765)"));
}

}  // namespace
}  // namespace evenpack::worker
