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

// More moves than a launch takes, some of them empty.
TEST_F(CudaDeviceTest, RowsAreAddedAsOnTheHost) {
  std::mt19937_64 random(3);
  for (const size_t count : {1U, 128U, 129U, 300U}) {
    std::vector<RowMove> moves;
    uint64_t row = 0;
    uint64_t rows = 0;
    for (size_t i = 0; i < count; ++i) {
      row += random() % 3;
      rows += random() % 2;
      moves.push_back({rows, row, random() % 4});
      row += moves.back().count;
      rows += moves.back().count;
    }
    std::vector<float> from(rows * 5);
    std::iota(from.begin(), from.end(), 1.0F);
    std::vector<float> sums((row + 1) * 7, 0.5F);
    const auto arrived = Holding(from);
    const auto on_device = Holding(sums);
    const auto sums_of = [&moves](const void* read, void* added_to) {
      std::vector<RowCopy> added;
      AppendCopies({read, 5 * sizeof(float), static_cast<float*>(added_to) + 2,
                    7 * sizeof(float)},
                   moves, 5 * sizeof(float), added);
      return added;
    };
    EXPECT_THAT(Device::Host().AddRows(sums_of(from.data(), sums.data())), IsOk());
    EXPECT_THAT(cuda_->AddRows(sums_of(arrived->data(), on_device->data())), IsOk());
    EXPECT_EQ(Read<float>(*on_device, sums.size()), sums) << count;
  }
}

TEST_F(CudaDeviceTest, SumsAreRoundedAsOnTheHost) {
  for (const ElementType type : kElementTypes) {
    for (const size_t count : {0U, 1U, 1024U, 1025U, 3000U}) {
      std::vector<float> from(count);
      std::iota(from.begin(), from.end(), 0.3F);
      std::vector<char> expected(count * BytesOf(type));
      Store(type, from.data(), count, expected.data());
      const auto sums = Holding(from);
      const auto to = Holding(std::vector<char>(expected.size()));
      EXPECT_THAT(cuda_->Convert(type, static_cast<const float*>(sums->data()), count,
                                 to->data()),
                  IsOk());
      EXPECT_EQ(Read<char>(*to, expected.size()), expected);
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
