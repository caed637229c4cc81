#include "gpu_worker/cuda/cuda_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using evenpack::testing::TakeMisuse;
using ::testing::HasSubstr;

class CudaContextTest : public evenpack::testing::FakeDeviceTest {};

TEST_F(CudaContextTest, IsCurrentWhileItIsSaidToBe) {
  const auto context =
      CudaContext::Open(CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), 0);
  ASSERT_THAT(context, IsOk());
  const cuda::Functions& call = (*context)->functions();
  int least = 0;
  int greatest = 0;
  {
    const CurrentContext current(**context);
    const CurrentContext again(**context);
    EXPECT_EQ(call.cuCtxGetStreamPriorityRange(&least, &greatest), cuda::kSuccess);
  }
  EXPECT_EQ(call.cuCtxGetStreamPriorityRange(&least, &greatest), cuda::kInvalidContext);
  EXPECT_EQ(TakeMisuse(), "cuCtxGetStreamPriorityRange: no context is current\n");
  fakeCudaReset();
}

// As after a cudaDeviceReset of the trainer's.
TEST_F(CudaContextTest, OneThatIsNoMoreLeavesTheCallersCurrent) {
  const auto context =
      CudaContext::Open(CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), 0).value();
  const cuda::Functions& call = context->functions();
  const CurrentContext callers(*context);
  ASSERT_EQ(call.cuDevicePrimaryCtxRelease_v2(0), cuda::kSuccess);
  { const CurrentContext gone(*context); }
  EXPECT_EQ(TakeMisuse(), "cuCtxPushCurrent: no such context\n");
  fakeCudaReset();
  cuda::Context left = nullptr;
  ASSERT_EQ(call.cuDevicePrimaryCtxRetain(&left, 0), cuda::kSuccess);
  int least = 0;
  int greatest = 0;
  EXPECT_EQ(call.cuCtxGetStreamPriorityRange(&least, &greatest), cuda::kSuccess);
}

TEST_F(CudaContextTest, ADeviceThatThereIsNotIsNamed) {
  EXPECT_THAT(
      CudaContext::Open(CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), 3).status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("to be found as device 3")));
}

TEST_F(CudaContextTest, ADeviceIsFoundByItsUuid) {
  const auto driver = CudaDriver::Load(EVENPACK_FAKE_CUDA).value();
  const auto second = CudaContext::Open(driver, 1).value();
  const auto uuid = second->Uuid();
  ASSERT_THAT(uuid, IsOk());
  EXPECT_NE(*uuid, CudaContext::Open(driver, 0).value()->Uuid().value());
  const auto found = CudaContext::Open(driver, *uuid);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ((*found)->device(), 1);
  EXPECT_THAT(CudaContext::Open(driver, DeviceUuid{0xab}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("none of the 2 devices that this process sees has "
                                 "the UUID ab000")));
}

}  // namespace
}  // namespace evenpack::worker
