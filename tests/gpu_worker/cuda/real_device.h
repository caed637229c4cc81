// A device that is there.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_REAL_DEVICE_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_REAL_DEVICE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_device.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

// A device of the host, and what a rank has of it. Not thread-safe.
struct RealDevice {
  std::shared_ptr<const worker::CudaContext> context;
  std::shared_ptr<worker::CudaMemory> memory;
  std::unique_ptr<worker::CudaStream> compute;
  std::unique_ptr<worker::CudaDevice> device;

  static absl::StatusOr<RealDevice> Open(int number, size_t budget = size_t{1} << 30) {
    auto driver = worker::CudaDriver::Load();
    if (!driver.ok()) return driver.status();
    auto context = worker::CudaContext::Open(*driver, number);
    if (!context.ok()) return context.status();
    RealDevice rank;
    rank.context = *context;
    rank.memory = worker::CudaMemory::Create(rank.context, budget).value();
    rank.compute =
        worker::CudaStream::Create(rank.context, worker::CudaStream::Priority::kLeast)
            .value();
    auto device =
        worker::CudaDevice::Create(rank.context, rank.memory, rank.compute->handle());
    if (!device.ok()) return device.status();
    rank.device = *std::move(device);
    return rank;
  }
  template <typename T>
  std::unique_ptr<worker::DeviceMemory> Holding(const std::vector<T>& numbers) const {
    auto held = device->Allocate(numbers.size() * sizeof(T)).value();
    EXPECT_THAT(
        device->CopyFromHost(numbers.data(), numbers.size() * sizeof(T), held->data()),
        IsOk());
    return held;
  }
  template <typename T>
  std::vector<T> Read(const worker::DeviceMemory& held, size_t count) const {
    std::vector<T> numbers(count);
    EXPECT_THAT(device->CopyToHost(held.data(), count * sizeof(T), numbers.data()),
                IsOk());
    return numbers;
  }
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_REAL_DEVICE_H_
