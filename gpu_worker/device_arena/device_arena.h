// Arenas whose tensors are in a CUDA device's memory.
#ifndef EVENPACK_GPU_WORKER_DEVICE_ARENA_DEVICE_ARENA_H_
#define EVENPACK_GPU_WORKER_DEVICE_ARENA_DEVICE_ARENA_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/cuda/cuda_context.h"

namespace evenpack::worker {

// The worker's. Its tensors take SharedDeviceMemory::RoundedUp(data_bytes) of the
// device. INVALID_ARGUMENT: `data_bytes` is not 1 to kMaxArenaBytes.
// RESOURCE_EXHAUSTED: they would be more than `most_bytes`, or than the device has.
absl::StatusOr<Arena> CreateDeviceArena(std::shared_ptr<const CudaContext> context,
                                        uint64_t data_bytes, uint64_t most_bytes);

// The trainer's: maps tensors on the worker's device, whatever its number is among
// those that this process sees. FAILED_PRECONDITION: it doesn't see it.
// INVALID_ARGUMENT: the descriptor is none of that memory.
MapTensors MapOnDevice(std::shared_ptr<const CudaDriver> driver);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_ARENA_DEVICE_ARENA_H_
