// Slices with made-up tensors: queries that end where the keys of their document end.
#ifndef EVENPACK_GPU_WORKER_PROFILE_MADE_SLICES_H_
#define EVENPACK_GPU_WORKER_PROFILE_MADE_SLICES_H_

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

// Each of another document, in tensors of less than 2^32 tokens.
struct SliceLengths {
  // At least 1.
  uint32_t q_len = 0;
  // At least q_len.
  uint32_t kv_len = 0;
  uint32_t count = 1;
};

// Of one call. Not thread-safe.
class MadeSlices {
 public:
  // `shape` has passed Check. `device` must outlive it; its errors.
  static absl::StatusOr<std::unique_ptr<MadeSlices>> Make(const AttentionShape& shape,
                                                          const SliceLengths& lengths,
                                                          Device& device);
  // Its call refers to its own tensors.
  MadeSlices(const MadeSlices&) = delete;
  MadeSlices& operator=(const MadeSlices&) = delete;

  // Both return when the device has done it.
  absl::Status Forward(AttentionEngine& engine);
  // After Forward.
  absl::Status Backward(AttentionEngine& engine);

 private:
  MadeSlices(const AttentionShape& shape, const SliceLengths& lengths, Device& device);

  absl::Status Fill();
  // As a backward pass does.
  absl::Status Sum(std::span<const KeyGradients> left);
  FloatRows LogSumExp() const { return {Floats(log_sum_exp_), shape_.query_heads}; }
  static float* Floats(const std::unique_ptr<DeviceMemory>& memory) {
    return static_cast<float*>(memory->data());
  }

  const AttentionShape shape_;
  // Tokens of the tensors.
  const uint32_t query_tokens_;
  const uint32_t key_tokens_;
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

#endif  // EVENPACK_GPU_WORKER_PROFILE_MADE_SLICES_H_
