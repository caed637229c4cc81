// Where a rank's tensors are, and what is done with them there beside attention and
// exchanges.
#ifndef EVENPACK_GPU_WORKER_DEVICE_DEVICE_H_
#define EVENPACK_GPU_WORKER_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/row_copies.h"
#include "gpu_worker/device/row_sums.h"

namespace evenpack::worker {

// Given back when it goes, in the order in which the device works. It must not outlive
// its device.
class DeviceMemory {
 public:
  explicit DeviceMemory(void* data) : data_(data) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Null where it has no bytes.
  void* data() const { return data_; }

 private:
  void* const data_;
};

// A point in the order in which a device works. It must not outlive its device.
class DeviceMark {
 public:
  virtual ~DeviceMark() = default;

  // Nanoseconds since an earlier one of the same device, once that has come to both.
  virtual absl::StatusOr<int64_t> Since(const DeviceMark& earlier) const = 0;
};

// A device works in the order of the calls, together with those of the engine and the
// communicator that it has beside it. The host's has done what a call asks when that
// returns; others may do it later, and an error of theirs show at any later call.
// Not thread-safe.
class Device {
 public:
  virtual ~Device() = default;

  // This process's memory. Thread-safe; lives as long as the process.
  static Device& Host();

  // Not initialised, and aligned for any element. RESOURCE_EXHAUSTED naming the sizes.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes) = 0;

  // `row_bytes` of each of `rows` rows, `stride` bytes apart.
  virtual absl::Status Zero(void* data, size_t row_bytes, size_t stride,
                            uint64_t rows) = 0;
  // No row is both read and written, and none written twice.
  virtual absl::Status CopyRows(std::span<const RowCopy> copies) = 0;
  // Sets each row to the sum of the terms' rows that go to it, or to 0 where none does:
  // in single precision and in the order of the terms, then rounded as Store does
  // (element_type.h). No row of a term is one of the sums.
  virtual absl::Status SumRows(std::span<const RowTerm> terms, const RowSums& sums) = 0;

  // After what was asked so far. Null where that is done by now: a clock tells the
  // time.
  virtual absl::StatusOr<std::unique_ptr<DeviceMark>> Mark() { return nullptr; }

  // Returns when all is done that was asked so far, also of the engine beside it.
  virtual absl::Status Finish() = 0;
  // Both return when it is done.
  virtual absl::Status CopyFromHost(const void* from, size_t bytes, void* to) = 0;
  virtual absl::Status CopyToHost(const void* from, size_t bytes, void* to) = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_DEVICE_H_
