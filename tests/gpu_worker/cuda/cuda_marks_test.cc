#include "gpu_worker/cuda/cuda_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;

class CudaMarksTest : public evenpack::testing::FakeDeviceTest {
 protected:
  // The device works so long.
  template <uint64_t kNanoseconds>
  void Work() {
    const CurrentContext current(*device_.context());
    device_.context()->functions().cuLaunchHostFunc(
        device_.compute(), [](void*) { fakeCudaPassTime(kNanoseconds); }, nullptr);
  }
  std::unique_ptr<DeviceMark> Mark() { return marks_.After(device_.compute()).value(); }

  FakeDevice device_;
  CudaMarks marks_{device_.context()};
};

TEST_F(CudaMarksTest, TellWhatTheDeviceTookBetweenThem) {
  Work<1000000>();
  const auto first = Mark();
  Work<2000000>();
  const auto second = Mark();
  const auto third = Mark();
  device_.Synchronize();
  EXPECT_EQ(second->Since(*first).value(), 2000000);
  EXPECT_EQ(third->Since(*second).value(), 0);
  EXPECT_EQ(third->Since(*first).value(), 2000000);
}

TEST_F(CudaMarksTest, EventsAreUsedAgain) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto first = Mark();
    Work<3000>();
    const auto second = Mark();
    device_.Synchronize();
    EXPECT_EQ(second->Since(*first).value(), 3000);
  }
  const size_t live = fakeCudaLive();
  Mark();
  Mark();
  EXPECT_EQ(fakeCudaLive(), live);
}

}  // namespace
}  // namespace evenpack::worker
