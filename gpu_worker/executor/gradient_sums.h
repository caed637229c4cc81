// Gradients of keys and values on their way back to the rows' owners.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/device/key_gradients.h"
#include "gpu_worker/device/row_sums.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// Single-precision numbers in a device's memory, a row for each row of keys.
class GradientSums {
 public:
  // `row`: elements of one. Errors of the device.
  static absl::StatusOr<GradientSums> Zero(Device& device, uint64_t rows, size_t row);
  // Not initialised.
  static absl::StatusOr<GradientSums> Uninitialized(Device& device, uint64_t rows,
                                                    size_t row);
  GradientSums() = default;

  size_t row() const { return row_; }
  // Numbers in key(), and in value().
  size_t size() const { return rows_ * row_; }
  float* key() const { return Data(key_); }
  float* value() const { return Data(value_); }
  absl::Status SetToZero(Device& device) const;
  // As where sums are written.
  RowSums All() const;
  // Some of its rows, from this column on; the moves must outlive it.
  RowTerm Term(std::span<const RowMove> moves, size_t column = 0) const;
  // From this column on.
  FloatRows Keys(size_t column) const { return View(key(), column); }
  FloatRows Values(size_t column) const { return View(value(), column); }

 private:
  static float* Data(const std::unique_ptr<DeviceMemory>& memory) {
    return memory == nullptr ? nullptr : static_cast<float*>(memory->data());
  }
  FloatRows View(float* sums, size_t column) const {
    return {sums == nullptr ? nullptr : sums + column, row_};
  }

  uint64_t rows_ = 0;
  size_t row_ = 0;
  std::unique_ptr<DeviceMemory> key_;
  std::unique_ptr<DeviceMemory> value_;
};

// Those of received rows, of some heads.
class ReturnedGradients {
 public:
  // All must outlive it. Errors of the device.
  static absl::StatusOr<std::unique_ptr<ReturnedGradients>> Make(
      const PreparedMicroBatch& prepared, const HeadView& heads, Device& device);

  // Either what a backward pass adds to, which this sets to 0 first, or what it left.
  absl::StatusOr<GradientSums*> Zeroed();
  absl::Status SumOf(std::span<const KeyGradients> left);
  // Once one of these is complete. Errors of the device, without whose memory nothing
  // is begun.
  absl::Status Start(Communicator& communicator);
  // Waits for what comes back, and appends it by peer, with what is there of the rank's
  // own copies in its turn: terms of the rank's own rows, which live as long as this.
  absl::Status AppendTo(std::vector<RowTerm>& terms);

  const HeadView& heads() const { return heads_; }

 private:
  ReturnedGradients(const PreparedMicroBatch& prepared, HeadView heads, Device& device,
                    GradientSums sums);

  const PreparedMicroBatch& prepared_;
  const HeadView heads_;
  uint32_t rank_ = 0;
  Device& device_;
  GradientSums sums_;
  GradientSums arrived_;
  std::unique_ptr<Transfer> transfer_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_
