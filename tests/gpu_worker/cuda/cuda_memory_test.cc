#include "gpu_worker/cuda/cuda_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

class CudaMemoryTest : public evenpack::testing::FakeDeviceTest {
 protected:
  FakeDevice device_{1000};
};

TEST_F(CudaMemoryTest, HoldsWhatIsWrittenUntilItGoes) {
  CudaBuffer buffer = device_.Take(3 * sizeof(int));
  EXPECT_EQ(buffer.size(), 12U);
  EXPECT_EQ(device_.Read<int>(buffer), std::vector<int>(3, -1)) << "not poisoned";
  device_.Write(std::vector<int>{4, 5, 6}, buffer);
  CudaBuffer moved = std::move(buffer);
  EXPECT_EQ(device_.Read<int>(moved), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(device_.memory()->bytes_in_use(), 12U);
  moved = CudaBuffer();
  EXPECT_EQ(device_.memory()->bytes_in_use(), 0U);
}

TEST_F(CudaMemoryTest, NothingTakesNothing) {
  const CudaBuffer none = device_.Take(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(device_.memory()->bytes_in_use(), 0U);
}

TEST_F(CudaMemoryTest, ABudgetIsNotExceeded) {
  const CudaBuffer first = device_.Take(600);
  const auto second = device_.memory()->Take(401, device_.compute());
  EXPECT_THAT(second.status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "401 bytes of the device were asked for where 600 of a budget "
                       "of 1000 are in use"));
  EXPECT_THAT(device_.memory()->Take(400, device_.compute()), IsOk());
}

TEST_F(CudaMemoryTest, ADeviceThatHasNoMoreSaysSo) {
  const CudaBuffer first = device_.Take(600);
  fakeCudaSetMemory(800);
  EXPECT_THAT(device_.memory()->Take(300, device_.compute()).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("to give 300 bytes beside the 600 in use of a budget "
                                 "of 1000: CUDA_ERROR_OUT_OF_MEMORY")));
  EXPECT_EQ(device_.memory()->bytes_in_use(), 600U);
}

}  // namespace
}  // namespace evenpack::worker
