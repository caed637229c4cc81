// Ranks that are threads of a test, each with a device of its own, over the doubles.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_GROUP_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_GROUP_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gpu_worker/nccl/nccl_endpoint.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/gpu_worker/nccl/fake_nccl.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {

// Fails where something was misused or is left.
class FakeNcclTest : public FakeDeviceTest {
 protected:
  FakeNcclTest() { fakeNcclReset(); }
  ~FakeNcclTest() override {
    // Who ended a rank need not have waited for that.
    for (int i = 0; i < 1'000'000 && fakeCudaLive() > 0; ++i) {
      std::this_thread::yield();
    }
    EXPECT_EQ(fakeNcclLive(), 0U);
    EXPECT_EQ(fakeNcclEnding(), 0U);
  }

  static std::shared_ptr<const worker::NcclLibrary> Library() {
    return worker::NcclLibrary::Load(EVENPACK_FAKE_NCCL).value();
  }

  // Time stands still; ranks look often. However it passes, NCCL has ended what is
  // aborted.
  worker::NcclTiming Timing() {
    worker::NcclTiming timing;
    timing.poll_interval = std::chrono::microseconds(200);
    timing.abort_timeout = std::chrono::hours(100'000);
    timing.clock = &clock_;
    return timing;
  }

  FakeClock clock_;
};

// While it lives, time passes.
class PassingTime {
 public:
  explicit PassingTime(FakeClock& clock)
      : thread_([this, &clock] {
          while (!ending_) {
            clock.Advance(std::chrono::seconds(1));
            std::this_thread::yield();
          }
        }) {}
  ~PassingTime() {
    ending_ = true;
    thread_.join();
  }
  PassingTime(const PassingTime&) = delete;
  PassingTime& operator=(const PassingTime&) = delete;

 private:
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

// Runs body(rank) for every rank, each in a thread.
inline void InThreads(uint32_t ranks, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

inline worker::CudaWorkplace DeviceOf(const FakeDevice& device) {
  return {device.context(), device.memory(), device.compute()};
}

// All ranks of a group, connected.
class FakeGroup {
 public:
  FakeGroup(uint32_t ranks, const std::shared_ptr<const worker::NcclLibrary>& library,
            const worker::NcclTiming& timing)
      : devices_(ranks), communicators_(ranks) {
    std::vector<std::unique_ptr<worker::Endpoint>> endpoints;
    std::vector<std::string> addresses;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      worker::NcclOptions options;
      options.seat = {rank, ranks};
      options.timing = timing;
      options.device = DeviceOf(devices_[rank]);
      options.kernels = kFakeImage;
      endpoints.push_back(worker::OpenNcclEndpoint(library, options).value());
      addresses.push_back(endpoints.back()->address());
    }
    InThreads(ranks, [&](uint32_t rank) {
      auto connected = endpoints[rank]->Connect(addresses);
      ASSERT_THAT(connected, IsOk());
      communicators_[rank] = *std::move(connected);
    });
  }

  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  FakeDevice& device(uint32_t rank) { return devices_[rank]; }
  worker::Communicator& communicator(uint32_t rank) { return *communicators_[rank]; }
  void Leave(uint32_t rank) { communicators_[rank] = nullptr; }
  // Side by side, since each waits for its peers.
  void LeaveAll() {
    InThreads(size(), [&](uint32_t rank) { Leave(rank); });
  }

 private:
  std::vector<FakeDevice> devices_;
  std::vector<std::unique_ptr<worker::Communicator>> communicators_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_FAKE_GROUP_H_
