// A rank's tensors in a device's memory.
#ifndef EVENPACK_GPU_WORKER_SELFTEST_DEVICE_TENSORS_H_
#define EVENPACK_GPU_WORKER_SELFTEST_DEVICE_TENSORS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/selftest/made_micro_batch.h"

namespace evenpack::worker {

// Not thread-safe.
class DeviceTensors {
 public:
  // Copies of `tensors`. Both must outlive it. Errors of the device.
  static absl::StatusOr<std::unique_ptr<DeviceTensors>> Copy(RankTensors& tensors,
                                                             Device& device);
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;

  AttentionInput input() const { return {At(0), At(1), At(2)}; }
  const void* output_gradient() const { return At(3); }
  AttentionOutput result() const { return {At(4), static_cast<float*>(At(8))}; }
  AttentionGradients gradients() const { return {At(5), At(6), At(7)}; }
  // Copies the tensors anew, which have the sizes that they had.
  absl::Status CopyAgain();
  // What was computed, into the tensors that these are copies of. INTERNAL: something
  // was written behind the end of one.
  absl::Status ReadBack();

 private:
  DeviceTensors(RankTensors& tensors, Device& device)
      : tensors_(tensors), device_(device) {}

  // All there are, as they lie in `held_`.
  struct HostRows {
    void* data;
    size_t bytes;
  };
  std::vector<HostRows> OnHost() const;
  void* At(size_t i) const { return held_[i]->data(); }
  // A guard, so that what is written beyond a tensor's end is found.
  void* Behind(size_t i, const HostRows& of) const;
  absl::Status CheckGuard(size_t i, const HostRows& of);

  RankTensors& tensors_;
  Device& device_;
  std::vector<std::unique_ptr<DeviceMemory>> held_;
};

// A forward and a backward pass over them. `executor`: an Executor or a GroupExecutor.
template <typename AnyExecutor>
absl::Status RunPasses(AnyExecutor& executor, const PreparedMicroBatch& prepared,
                       const DeviceTensors& tensors) {
  absl::Status status = executor.Forward(prepared, tensors.input(), tensors.result());
  if (!status.ok()) return status;
  return executor.Backward(prepared, tensors.input(), tensors.result(),
                           tensors.output_gradient(), tensors.gradients());
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SELFTEST_DEVICE_TENSORS_H_
