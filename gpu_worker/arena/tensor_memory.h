// Memory of an arena's tensors that is a device's.
#ifndef EVENPACK_GPU_WORKER_ARENA_TENSOR_MEMORY_H_
#define EVENPACK_GPU_WORKER_ARENA_TENSOR_MEMORY_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena_format.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack::worker {

// Mapped in this process as long as the object lives.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;

  // An address of the device.
  virtual char* data() const = 0;
  virtual uint64_t bytes() const = 0;
  // By which another process maps it; -1 where it came from one.
  virtual int descriptor() const = 0;
  virtual DeviceUuid device() const = 0;
};

// Maps what another process has given: `bytes` of that device, by its descriptor.
using MapTensors = std::function<absl::StatusOr<std::unique_ptr<TensorMemory>>(
    FileDescriptor descriptor, uint64_t bytes, const DeviceUuid& device)>;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_TENSOR_MEMORY_H_
