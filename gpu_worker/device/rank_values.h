// Numbers of every rank of a group, told to all.
#ifndef EVENPACK_GPU_WORKER_DEVICE_RANK_VALUES_H_
#define EVENPACK_GPU_WORKER_DEVICE_RANK_VALUES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"

namespace evenpack::worker {

// By rank, once they have arrived. All ranks of the group call it; `device` is that of
// the communicator. Errors of either.
absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                Device& device, int64_t value);
// Likewise of as many values of each rank, one rank's behind the other's.
absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                Device& device,
                                                std::span<const int64_t> values);

// Returns once all ranks have called it.
absl::Status AwaitRanks(Communicator& communicator, Device& device);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_RANK_VALUES_H_
