// A rank whose tensors are on a device.
#ifndef EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_
#define EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_

#include <memory>
#include <vector>

#include "gpu_worker/cuda/cuda_device.h"
#include "gpu_worker/selftest/made_micro_batch.h"
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

// The tensors of a rank on its device.
class TensorsOnDevice {
 public:
  TensorsOnDevice(worker::RankTensors& tensors, FakeDevice& device)
      : device_(device), tensors_(tensors) {
    for (const std::vector<char>* of :
         {&tensors.query, &tensors.key, &tensors.value, &tensors.output_gradient,
          &tensors.output, &tensors.query_gradient, &tensors.key_gradient,
          &tensors.value_gradient}) {
      buffers_.push_back(device.Take(of->size()));
      device.Write(*of, buffers_.back());
    }
    log_sum_exp_ = device.Take(tensors.log_sum_exp.size() * sizeof(float));
    device.Write(tensors.log_sum_exp, log_sum_exp_);
  }

  worker::AttentionInput input() const { return {At(0), At(1), At(2)}; }
  const void* output_gradient() const { return At(3); }
  worker::AttentionOutput result() const {
    return {At(4), static_cast<float*>(log_sum_exp_.data())};
  }
  worker::AttentionGradients gradients() const { return {At(5), At(6), At(7)}; }
  // Once all of it is computed.
  void ReadBack() {
    tensors_.output = device_.Read<char>(buffers_[4]);
    tensors_.log_sum_exp = device_.Read<float>(log_sum_exp_);
    tensors_.query_gradient = device_.Read<char>(buffers_[5]);
    tensors_.key_gradient = device_.Read<char>(buffers_[6]);
    tensors_.value_gradient = device_.Read<char>(buffers_[7]);
  }

 private:
  void* At(size_t i) const { return buffers_[i].data(); }

  FakeDevice& device_;
  worker::RankTensors& tensors_;
  std::vector<worker::CudaBuffer> buffers_;
  worker::CudaBuffer log_sum_exp_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_NCCL_DEVICE_RANK_H_
