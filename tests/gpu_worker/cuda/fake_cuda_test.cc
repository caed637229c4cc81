// Whether the double of the driver notes what no device would forgive.
#include "tests/gpu_worker/cuda/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/cuda/fake_device.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::TakeMisuse;
using ::testing::HasSubstr;

class FakeCudaTest : public evenpack::testing::FakeDeviceTest {
 protected:
  const cuda::Functions& call() { return device_.context()->functions(); }
  static cuda::DevicePointer At(const CudaBuffer& buffer) {
    return reinterpret_cast<cuda::DevicePointer>(buffer.data());
  }
  void ExpectMisuse(const char* what) {
    device_.Synchronize();
    EXPECT_THAT(TakeMisuse(), HasSubstr(what));
    fakeCudaReset();
  }

  FakeDevice device_;
  const CurrentContext current_{*device_.context()};
};

TEST_F(FakeCudaTest, MemoryThatWasGivenBackIsNotUsed) {
  CudaBuffer buffer = device_.Take(8);
  const cuda::DevicePointer at = At(buffer);
  buffer = CudaBuffer();
  call().cuMemsetD8Async(at, 0, 8, device_.compute());
  ExpectMisuse("cuMemsetD8Async: memory that is not in use");
}

TEST_F(FakeCudaTest, NothingIsUsedBeyondItsEnd) {
  const CudaBuffer buffer = device_.Take(8);
  call().cuMemsetD8Async(At(buffer), 0, 9, device_.compute());
  ExpectMisuse("cuMemsetD8Async: memory that is not in use");
  call().cuMemsetD2D8Async(At(buffer), 4, 0, 2, 3, device_.compute());
  ExpectMisuse("cuMemsetD2D8Async: memory that is not in use");
}

TEST_F(FakeCudaTest, MemoryIsNotUsedBeforeItsStreamHasTakenIt) {
  const auto other =
      CudaStream::Create(device_.context(), CudaStream::Priority::kLeast).value();
  evenpack::testing::StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  const CudaBuffer buffer = device_.Take(8);
  call().cuMemsetD8Async(At(buffer), 0, 8, other->handle());
  EXPECT_TRUE(other->Synchronize().ok());
  gate.Open();
  ExpectMisuse("cuMemsetD8Async: memory that is not in use");
}

TEST_F(FakeCudaTest, HandlesAreChecked) {
  int none = 0;
  EXPECT_EQ(call().cuStreamSynchronize(reinterpret_cast<cuda::Stream>(&none)),
            cuda::kInvalidHandle);
  ExpectMisuse("cuStreamSynchronize: no such stream");
  EXPECT_EQ(call().cuEventQuery(reinterpret_cast<cuda::Event>(&none)),
            cuda::kInvalidHandle);
  ExpectMisuse("cuEventQuery: no such event");
  EXPECT_EQ(call().cuGraphLaunch(reinterpret_cast<cuda::ExecutableGraph>(&none),
                                 device_.compute()),
            cuda::kInvalidHandle);
  ExpectMisuse("cuGraphLaunch: no such executable graph");
  EXPECT_EQ(call().cuMemFreeAsync(reinterpret_cast<cuda::DevicePointer>(&none),
                                  device_.compute()),
            cuda::kInvalidValue);
  ExpectMisuse("cuMemFreeAsync: memory that was not taken");
}

}  // namespace
}  // namespace evenpack::worker
