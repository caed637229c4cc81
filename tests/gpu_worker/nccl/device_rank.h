// A rank whose tensors are on a device.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_

#include <memory>

#include "gpu_worker/cuda/cuda_device.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/gpu_worker/nccl/streamed_attention.h"

namespace evenpack::testing {

// What it computes with.
class DeviceRank {
 public:
  // Must outlive it.
  explicit DeviceRank(FakeDevice& device)
      : device_(device),
        cuda_(worker::CudaDevice::Create(device.context(), device.memory(),
                                         device.compute(), kFakeImage)
                  .value()),
        engine_(device) {}
  ~DeviceRank() { device_.Synchronize(); }
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  FakeDevice& device() { return device_; }
  worker::CudaDevice& cuda() { return *cuda_; }
  worker::AttentionEngine& engine() { return engine_; }

 private:
  FakeDevice& device_;
  const std::unique_ptr<worker::CudaDevice> cuda_;
  StreamedAttention engine_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_
