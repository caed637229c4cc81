// What every rank of a group measured, told to all.
#ifndef EVENPACK_GPU_WORKER_PROFILE_RANK_VALUES_H_
#define EVENPACK_GPU_WORKER_PROFILE_RANK_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// By rank. All ranks of the group call it. Errors of the communicator.
absl::StatusOr<std::vector<int64_t>> OfAllRanks(Communicator& communicator,
                                                int64_t value);

// Returns once all ranks have called it.
absl::Status AwaitRanks(Communicator& communicator);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_RANK_VALUES_H_
