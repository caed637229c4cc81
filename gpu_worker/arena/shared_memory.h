// Memory that processes share by a descriptor.
#ifndef EVENPACK_GPU_WORKER_ARENA_SHARED_MEMORY_H_
#define EVENPACK_GPU_WORKER_ARENA_SHARED_MEMORY_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack::worker {

// Mapped for reading and writing; unmapped with the object. Moving keeps the address.
class SharedMemory {
 public:
  // All 0; pages take memory once they are written. Nobody can change its size, so that
  // no access of one process fails for what another does. RESOURCE_EXHAUSTED,
  // INVALID_ARGUMENT: the system refused.
  static absl::StatusOr<SharedMemory> Create(size_t bytes);
  // One that another process made. INVALID_ARGUMENT: the descriptor is none of such, or
  // its size can be changed.
  static absl::StatusOr<SharedMemory> Map(FileDescriptor descriptor);

  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_) {}
  SharedMemory& operator=(SharedMemory&&) = delete;

  int descriptor() const { return descriptor_.get(); }
  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  SharedMemory(FileDescriptor descriptor, char* data, size_t size)
      : descriptor_(std::move(descriptor)), data_(data), size_(size) {}

  FileDescriptor descriptor_;
  char* data_;
  size_t size_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_SHARED_MEMORY_H_
