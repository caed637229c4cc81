// Memory of a device that processes share by a descriptor.
#ifndef EVENPACK_GPU_WORKER_CUDA_SHARED_DEVICE_MEMORY_H_
#define EVENPACK_GPU_WORKER_CUDA_SHARED_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack::worker {

// Mapped for reading and writing; unmapped with the object, by when the device must be
// done with it. The memory lives as long as one process maps it, or has a descriptor of
// it. Thread-safe.
class SharedDeviceMemory {
 public:
  // What Create takes for so many bytes: up to a multiple of what the device maps at
  // once, 2 MiB on those of today.
  static absl::StatusOr<size_t> RoundedUp(const CudaContext& context, size_t bytes);

  // Not initialised; of RoundedUp(bytes). INVALID_ARGUMENT: 0 bytes.
  // RESOURCE_EXHAUSTED: the device has no more.
  static absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> Create(
      std::shared_ptr<const CudaContext> context, size_t bytes);
  // What another process has made on the same device, of this size.
  // INVALID_ARGUMENT: the descriptor is not of such memory, or it has another size.
  static absl::StatusOr<std::unique_ptr<SharedDeviceMemory>> Import(
      std::shared_ptr<const CudaContext> context, const FileDescriptor& descriptor,
      size_t bytes);
  ~SharedDeviceMemory();
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  // An address of the device.
  void* data() const;
  size_t size() const { return bytes_; }
  // By which another process imports it; -1 where it was imported.
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedDeviceMemory(std::shared_ptr<const CudaContext> context, size_t bytes);

  absl::Status Make();
  absl::Status Map();

  const std::shared_ptr<const CudaContext> context_;
  const size_t bytes_;
  // What there is of it; 0: not yet.
  cuda::MemoryHandle handle_ = 0;
  cuda::DevicePointer reserved_ = 0;
  bool mapped_ = false;
  FileDescriptor descriptor_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_SHARED_DEVICE_MEMORY_H_
