// A context-parallel group whose ranks are threads of one process and share a device.
#ifndef EVENPACK_GPU_WORKER_CUDA_DEVICE_GROUP_H_
#define EVENPACK_GPU_WORKER_CUDA_DEVICE_GROUP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/cuda/cuda_workplace.h"
#include "gpu_worker/cuda/row_kernels.h"

namespace evenpack::worker {

// NCCL refuses two ranks on one device. Transfers are ordered (communicator.h): each
// rank has a stream that copies what it receives straight out of the peers' tensors,
// beside what is computed. Start blocks until all peers have begun the exchange, too.
//
// With bytes_per_second, an exchange's stream takes as long as a network of that speed
// would for what the rank receives, while it occupies a thread of the device.
class DeviceGroup {
 public:
  // Where each rank computes, 1 to 1,024, all on one device. Errors as
  // RowKernels::Load.
  static absl::StatusOr<std::unique_ptr<DeviceGroup>> Create(
      std::vector<CudaWorkplace> seats, const LocalGroupOptions& options = {},
      std::span<const unsigned char> kernels = RowKernelImage());
  // Each of the communicators must be gone or idle.
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  Communicator& OfRank(uint32_t rank);

 private:
  class Events;
  class Member;

  DeviceGroup(uint32_t ranks, const LocalGroupOptions& options);

  const LocalGroupOptions options_;
  ExchangeBoard board_;
  std::unique_ptr<Events> events_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_DEVICE_GROUP_H_
