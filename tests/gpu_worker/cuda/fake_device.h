// A device of the double of the driver, and what a test asks of it in the end.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_DEVICE_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_DEVICE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/cuda/cuda_memory.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "tests/gpu_worker/cuda/fake_cuda.h"
#include "tests/gpu_worker/cuda/stream_gate.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

// In place of kernels' code, which the double doesn't read.
inline constexpr unsigned char kFakeImage[] = {0};

inline std::string TakeMisuse() {
  char* const text = fakeCudaMisuse();
  std::string misuse = text;
  std::free(text);
  return misuse;
}

// Fails where something was misused or is left.
class FakeDeviceTest : public ::testing::Test {
 protected:
  FakeDeviceTest() { fakeCudaReset(); }
  ~FakeDeviceTest() override {
    EXPECT_EQ(TakeMisuse(), "");
    EXPECT_EQ(fakeCudaLive(), 0U);
  }
};

// Whether `call` waits, on the host, for the stream that the gate holds, which is
// opened then.
inline bool WaitsFor(StreamGate& gate, const std::function<void()>& call) {
  std::atomic<bool> is_over = false;
  std::thread calling([&] {
    call();
    is_over = true;
  });
  while (!is_over && !fakeCudaIsAwaited()) std::this_thread::yield();
  const bool waits = !is_over;
  gate.Open();
  calling.join();
  return waits;
}

// What a rank has of the device. Not thread-safe.
class FakeDevice {
 public:
  // `number`: of two that there are.
  explicit FakeDevice(size_t budget = size_t{1} << 28, int number = 0)
      : context_(worker::CudaContext::Open(
                     worker::CudaDriver::Load(EVENPACK_FAKE_CUDA).value(), number)
                     .value()),
        memory_(worker::CudaMemory::Create(context_, budget).value()),
        compute_(
            worker::CudaStream::Create(context_, worker::CudaStream::Priority::kLeast)
                .value()) {}

  const std::shared_ptr<const worker::CudaContext>& context() const { return context_; }
  const std::shared_ptr<worker::CudaMemory>& memory() const { return memory_; }
  worker::cuda::Stream compute() const { return compute_->handle(); }
  void Synchronize() { EXPECT_THAT(compute_->Synchronize(), IsOk()); }

  worker::CudaBuffer Take(size_t bytes) {
    return memory_->Take(bytes, compute()).value();
  }
  // All in the order of the compute stream. Of the buffer's size; the first two are not
  // waited for.
  void Put(const void* from, const worker::CudaBuffer& to) {
    const worker::CurrentContext current(*context_);
    context_->functions().cuMemcpyHtoDAsync_v2(
        reinterpret_cast<worker::cuda::DevicePointer>(to.data()), from, to.size(),
        compute());
  }
  void Get(const worker::CudaBuffer& from, void* to) {
    const worker::CurrentContext current(*context_);
    context_->functions().cuMemcpyDtoHAsync_v2(
        to, reinterpret_cast<worker::cuda::DevicePointer>(from.data()), from.size(),
        compute());
  }
  template <typename T>
  void Write(const std::vector<T>& from, const worker::CudaBuffer& to) {
    const worker::CurrentContext current(*context_);
    context_->functions().cuMemcpyHtoDAsync_v2(
        reinterpret_cast<worker::cuda::DevicePointer>(to.data()), from.data(),
        from.size() * sizeof(T), compute());
    Synchronize();
  }
  template <typename T>
  std::vector<T> Read(const worker::CudaBuffer& from) {
    std::vector<T> read(from.size() / sizeof(T));
    Get(from, read.data());
    Synchronize();
    return read;
  }

 private:
  const std::shared_ptr<const worker::CudaContext> context_;
  const std::shared_ptr<worker::CudaMemory> memory_;
  const std::unique_ptr<worker::CudaStream> compute_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDA_FAKE_DEVICE_H_
