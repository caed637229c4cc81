#include "gpu_worker/cuda/row_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;

class RowKernelsTest : public evenpack::testing::FakeDeviceTest {};

TEST_F(RowKernelsTest, AreLoadedAndUnloaded) {
  const FakeDevice device;
  const auto kernels = RowKernels::Load(device.context(), kFakeImage);
  ASSERT_THAT(kernels, IsOk());
  EXPECT_THAT((*kernels)->AddRows({}, ElementType::kBfloat16, ElementType::kFloat32,
                                  device.compute()),
              IsOk());
}

// Wherever it was built with nvcc.
TEST_F(RowKernelsTest, TheImageHoldsThemAll) {
  const std::span<const unsigned char> image = RowKernelImage();
  if (image.empty()) GTEST_SKIP() << "built without nvcc";
  for (const std::string name : {"evenpack_copy_rows", "evenpack_add_rows",
                                 "evenpack_sum_rows", "evenpack_pace"}) {
    EXPECT_NE(std::search(image.begin(), image.end(), name.begin(), name.end()),
              image.end())
        << name;
  }
}

}  // namespace
}  // namespace evenpack::worker
