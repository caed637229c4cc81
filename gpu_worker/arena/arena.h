// Memory that a trainer and its worker share: tensors, and the ring by which the one
// asks the other to compute with them.
#ifndef EVENPACK_GPU_WORKER_ARENA_ARENA_H_
#define EVENPACK_GPU_WORKER_ARENA_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena_format.h"
#include "gpu_worker/arena/shared_memory.h"
#include "gpu_worker/arena/tensor_memory.h"

namespace evenpack::worker {

// Most bytes of tensors: 16 TiB.
inline constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 44;
// INVALID_ARGUMENT: not 1 to kMaxArenaBytes.
absl::Status CheckArenaBytes(uint64_t bytes);

// Moving keeps the memory where it is.
class Arena {
 public:
  // The worker's. INVALID_ARGUMENT: `data_bytes` is not 1 to kMaxArenaBytes. Errors of
  // SharedMemory.
  static absl::StatusOr<Arena> Create(uint64_t data_bytes);
  // The same, with tensors in a device's memory.
  static absl::StatusOr<Arena> Create(std::unique_ptr<TensorMemory> tensors);
  // The trainer's. INVALID_ARGUMENT: it is of another version or kind, or none.
  static absl::StatusOr<Arena> Open(FileDescriptor descriptor);
  // The same, with tensors in a device's memory. Errors of `map` too.
  static absl::StatusOr<Arena> Open(FileDescriptor descriptor, FileDescriptor tensors,
                                    const MapTensors& map);

  ArenaKind kind() const {
    return tensors_ == nullptr ? ArenaKind::kHost : ArenaKind::kCuda;
  }
  int descriptor() const { return memory_.descriptor(); }
  // Of the tensors, where they are a device's; else -1.
  int tensors_descriptor() const {
    return tensors_ == nullptr ? -1 : tensors_->descriptor();
  }
  ArenaHeader& header() const {
    return *reinterpret_cast<ArenaHeader*>(memory_.data());
  }
  // Of submission `number`, from 1.
  SubmissionSlot& slot(uint64_t number) const;
  // The tensors' memory; of kCuda an address of the device. Its size is that which the
  // arena was made with, whatever the header has come to say.
  char* data() const {
    return tensors_ == nullptr ? memory_.data() + kDataOffset : tensors_->data();
  }
  uint64_t data_bytes() const {
    return tensors_ == nullptr ? memory_.size() - kDataOffset : tensors_->bytes();
  }

 private:
  Arena(SharedMemory memory, std::unique_ptr<TensorMemory> tensors)
      : memory_(std::move(memory)), tensors_(std::move(tensors)) {}

  static absl::StatusOr<Arena> Make(size_t ring_bytes,
                                    std::unique_ptr<TensorMemory> tensors);

  SharedMemory memory_;
  // Null: they are behind the ring.
  std::unique_ptr<TensorMemory> tensors_;
};

// A status as shared memory holds it, and back.
void WriteResult(const absl::Status& status, SubmissionResult& result);
absl::Status ReadResult(const SubmissionResult& result);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_ARENA_H_
