// This process's memory as a device.
#ifndef EVENPACK_GPU_WORKER_DEVICE_HOST_DEVICE_H_
#define EVENPACK_GPU_WORKER_DEVICE_HOST_DEVICE_H_

#include <memory>

#include "gpu_worker/device/device.h"

namespace evenpack::worker {

// Thread-safe.
class HostDevice : public Device {
 public:
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes) override;
  absl::Status Zero(void* data, size_t row_bytes, size_t stride,
                    uint64_t rows) override;
  absl::Status CopyRows(std::span<const RowCopy> copies) override;
  absl::Status SumRows(std::span<const RowTerm> terms, const RowSums& sums) override;
  absl::Status Finish() override { return absl::OkStatus(); }
  absl::Status CopyFromHost(const void* from, size_t bytes, void* to) override;
  absl::Status CopyToHost(const void* from, size_t bytes, void* to) override;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_HOST_DEVICE_H_
