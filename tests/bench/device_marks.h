// When a device gets to a point of a stream, as the host sees it.
#ifndef EVENPACK_TESTS_BENCH_DEVICE_MARKS_H_
#define EVENPACK_TESTS_BENCH_DEVICE_MARKS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cudnn/cuda_rank.h"

namespace evenpack::worker {

// The device writes numbers from 1 on to page-locked memory, which a thread looks at
// again and again: about a microsecond passes in between, and a kernel's launch.
// Both waits end after ten seconds with DEADLINE_EXCEEDED. Append is one thread's, the
// others another's.
class DeviceMarks {
 public:
  // As many as `most` can be appended. The rank must outlive it. Errors of the device,
  // and of RowKernels::Load.
  static absl::StatusOr<std::unique_ptr<DeviceMarks>> Create(
      CudaRank& rank, uint64_t most,
      std::span<const unsigned char> kernels = RowKernelImage());
  // Waits for the device.
  ~DeviceMarks();
  DeviceMarks(const DeviceMarks&) = delete;
  DeviceMarks& operator=(const DeviceMarks&) = delete;

  // The next number, once the rank's stream has done what it has been given.
  // RESOURCE_EXHAUSTED: there are no more.
  absl::Status Append();
  // Waits until so many were appended.
  absl::Status AwaitAppended(uint64_t count) const;
  // Spins until the device has written the number or a later one; nanoseconds of the
  // steady clock then.
  absl::StatusOr<int64_t> AwaitNs(uint64_t number) const;

 private:
  explicit DeviceMarks(CudaRank& rank) : rank_(rank) {}

  // As a kernel copies them at once.
  struct alignas(16) Number {
    uint64_t value;
  };

  CudaRank& rank_;
  std::unique_ptr<RowKernels> kernels_;
  // On the device; those of the host are at `seen_`.
  std::unique_ptr<DeviceMemory> numbers_;
  uint64_t most_ = 0;
  std::atomic<uint64_t> appended_ = 0;
  Number* seen_ = nullptr;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_TESTS_BENCH_DEVICE_MARKS_H_
