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

TEST_F(CudaContextTest, ADeviceThatThereIsNotIsNamed) {
  EXPECT_THAT(
      CudaContext::Open(CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), 3).status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("to be found as device 3")));
}

}  // namespace
}  // namespace evenpack::worker
