#include "gpu_worker/cuda/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "gpu_worker/device/host_device.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::FakeDevice;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::StatusIs;
using evenpack::testing::StreamGate;
using evenpack::testing::WaitsFor;
using ::testing::HasSubstr;

class CudaDeviceTest : public evenpack::testing::FakeDeviceTest {
 protected:
  template <typename T>
  std::unique_ptr<DeviceMemory> Holding(const std::vector<T>& numbers) {
    auto memory = cuda_->Allocate(numbers.size() * sizeof(T)).value();
    EXPECT_THAT(
        cuda_->CopyFromHost(numbers.data(), numbers.size() * sizeof(T), memory->data()),
        IsOk());
    return memory;
  }
  template <typename T>
  std::vector<T> Read(const DeviceMemory& memory, size_t count) {
    std::vector<T> numbers(count);
    EXPECT_THAT(cuda_->CopyToHost(memory.data(), count * sizeof(T), numbers.data()),
                IsOk());
    return numbers;
  }

  FakeDevice device_{100000};
  std::unique_ptr<CudaDevice> cuda_ =
      CudaDevice::Create(device_.context(), device_.memory(), device_.compute(),
                         kFakeImage)
          .value();
};

TEST_F(CudaDeviceTest, AProgramWithoutKernelsSaysSo) {
  EXPECT_THAT(
      CudaDevice::Create(device_.context(), device_.memory(), device_.compute(), {})
          .status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("accepted: one that is built where CMake finds nvcc")));
}

// Their code goes with it.
TEST_F(CudaDeviceTest, ItsEndWaitsForItsKernels) {
  const CudaBuffer rows = device_.Take(2 * sizeof(int));
  StreamGate gate;
  gate.Close(*device_.context(), device_.compute());
  auto* const first = static_cast<int*>(rows.data());
  EXPECT_THAT(cuda_->CopyRows({{{first, 0, first + 1, 0, sizeof(int), 1}}}), IsOk());
  EXPECT_TRUE(WaitsFor(gate, [&] { cuda_ = nullptr; }));
  device_.Synchronize();
}

TEST_F(CudaDeviceTest, MemoryHasABudget) {
  EXPECT_EQ(cuda_->Allocate(0).value()->data(), nullptr);
  EXPECT_THAT(cuda_->Allocate(100001).status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("100001 bytes of the device were asked for")));
}

TEST_F(CudaDeviceTest, RowsBecomeNoughtAndWhatIsBetweenThemStays) {
  const auto rows = Holding(std::vector<int>(9, 7));
  EXPECT_THAT(cuda_->Zero(rows->data(), 2 * sizeof(int), 3 * sizeof(int), 2), IsOk());
  EXPECT_EQ(Read<int>(*rows, 9), (std::vector<int>{0, 0, 7, 0, 0, 7, 7, 7, 7}));
  EXPECT_THAT(cuda_->Zero(rows->data(), 4, 4, 9), IsOk());
  EXPECT_EQ(Read<int>(*rows, 9), std::vector<int>(9, 0));
  EXPECT_THAT(cuda_->Zero(nullptr, 8, 8, 0), IsOk());
}

// More moves than a launch has room for, and more terms.
TEST_F(CudaDeviceTest, RowsAreSumsOfTheTermsThatGoToThemAsOnTheHost) {
  constexpr size_t kColumns = 5;
  std::mt19937_64 random(3);
  for (const size_t count : {1U, 3U, 64U, 65U, 200U}) {
    for (const ElementType type : kElementTypes) {
      std::vector<std::vector<RowMove>> moves(count);
      uint64_t rows = 0;
      for (std::vector<RowMove>& of : moves) {
        uint64_t row = 0;
        uint64_t from = 0;
        for (size_t i = random() % 30; i > 0; --i) {
          row += random() % 3;
          from += random() % 2;
          of.push_back({from, row, 1 + random() % 4});
          row += of.back().count;
          from += of.back().count;
        }
        rows = std::max(rows, row + 1);
      }
      std::vector<float> numbers(2 * rows * kColumns);
      std::iota(numbers.begin(), numbers.end(), 0.3F);
      const auto term_rows = Holding(numbers);
      const size_t stride = kColumns * BytesOf(type);
      std::vector<char> expected(2 * rows * stride, 1);
      const auto on_device = Holding(expected);
      const auto sum = [&](Device& device, const void* from, void* to) {
        const auto* const first = static_cast<const float*>(from);
        std::vector<RowTerm> terms;
        for (const std::vector<RowMove>& of : moves) {
          terms.push_back({ElementType::kFloat32,
                           {first, first + rows * kColumns},
                           kColumns * sizeof(float),
                           of});
        }
        auto* const sums = static_cast<char*>(to);
        EXPECT_THAT(
            device.SumRows(
                terms, {type, {sums, sums + rows * stride}, stride, kColumns, rows}),
            IsOk());
      };
      sum(Device::Host(), numbers.data(), expected.data());
      sum(*cuda_, term_rows->data(), on_device->data());
      EXPECT_EQ(Read<char>(*on_device, expected.size()), expected) << count;
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
