// A slice with made-up tensors: queries that end where the keys of their document end.
#ifndef EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_
#define EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/device/key_gradients.h"

namespace evenpack::worker {

// Not thread-safe.
class MadeSlice {
 public:
  // `shape` has passed Check; q_len <= kv_len. With 0 of both it is a launch without
  // work. `device` must outlive it; its errors.
  static absl::StatusOr<std::unique_ptr<MadeSlice>> Make(const AttentionShape& shape,
                                                         uint32_t q_len,
                                                         uint32_t kv_len,
                                                         Device& device);
  // Its call refers to its own tensors.
  MadeSlice(const MadeSlice&) = delete;
  MadeSlice& operator=(const MadeSlice&) = delete;

  // Both return when the device has done it.
  absl::Status Forward(AttentionEngine& engine);
  // After Forward.
  absl::Status Backward(AttentionEngine& engine);

 private:
  MadeSlice(const AttentionShape& shape, uint32_t q_len, uint32_t kv_len,
            Device& device);

  absl::Status Fill(uint32_t q_len, uint32_t kv_len);
  // As a backward pass does.
  absl::Status Sum(std::span<const KeyGradients> left);
  FloatRows LogSumExp() const { return {Floats(log_sum_exp_), shape_.query_heads}; }
  static float* Floats(const std::unique_ptr<DeviceMemory>& memory) {
    return static_cast<float*>(memory->data());
  }

  const AttentionShape shape_;
  Device& device_;
  std::vector<AttentionTask> tasks_;
  AttentionCall call_;
  std::unique_ptr<DeviceMemory> query_;
  std::unique_ptr<DeviceMemory> key_;
  std::unique_ptr<DeviceMemory> value_;
  std::unique_ptr<DeviceMemory> output_gradient_;
  std::unique_ptr<DeviceMemory> output_;
  std::unique_ptr<DeviceMemory> log_sum_exp_;
  std::unique_ptr<DeviceMemory> query_gradient_;
  std::unique_ptr<DeviceMemory> key_gradient_;
  std::unique_ptr<DeviceMemory> value_gradient_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_
