// Memory of ranks that are threads of one process, each with a device.
#include "gpu_worker/cuda/peer_pools.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/gpu_worker/cuda/fake_device.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;

class PeerPoolsTest : public evenpack::testing::FakeDeviceTest {};

TEST_F(PeerPoolsTest, MemoryIsOpenToTheDevicesOfOtherPools) {
  FakeDevice first(1000, 0);
  // Also what it gave before the other was there.
  const CudaBuffer before = first.Take(8);
  EXPECT_FALSE(fakeCudaMayAccess(before.data(), 1));
  FakeDevice second(1000, 1);
  const CudaBuffer after = first.Take(8);
  const CudaBuffer others = second.Take(8);
  EXPECT_TRUE(fakeCudaMayAccess(before.data(), 1));
  EXPECT_TRUE(fakeCudaMayAccess(after.data(), 1));
  EXPECT_TRUE(fakeCudaMayAccess(others.data(), 0));
}

TEST_F(PeerPoolsTest, DevicesThatCannotReachEachOtherAreLeftAsTheyAre) {
  fakeCudaConnectDevices(false);
  FakeDevice first(1000, 0);
  FakeDevice second(1000, 1);
  const CudaBuffer buffer = first.Take(8);
  EXPECT_TRUE(fakeCudaMayAccess(buffer.data(), 0));
  EXPECT_FALSE(fakeCudaMayAccess(buffer.data(), 1));
}

TEST_F(PeerPoolsTest, PoolsThatAreGoneAreForgotten) {
  auto gone = std::make_unique<FakeDevice>(1000, 0);
  gone = nullptr;
  FakeDevice second(1000, 1);
  const CudaBuffer buffer = second.Take(8);
  EXPECT_FALSE(fakeCudaMayAccess(buffer.data(), 0));
}

}  // namespace
}  // namespace evenpack::worker
