// Memory that a trainer and its worker share: tensors, and the ring by which the one
// asks the other to compute with them.
#ifndef EVENPACK_GPU_WORKER_ARENA_ARENA_H_
#define EVENPACK_GPU_WORKER_ARENA_ARENA_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena_format.h"
#include "gpu_worker/arena/shared_memory.h"

namespace evenpack::worker {

// Most bytes of tensors: 16 TiB.
inline constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 44;

// Moving keeps the memory where it is.
class Arena {
 public:
  // The worker's. INVALID_ARGUMENT: `data_bytes` is not 1 to kMaxArenaBytes. Errors of
  // SharedMemory.
  static absl::StatusOr<Arena> Create(uint64_t data_bytes);
  // The trainer's. INVALID_ARGUMENT: it is of another version, or none.
  static absl::StatusOr<Arena> Open(OwnedDescriptor descriptor);

  int descriptor() const { return memory_.descriptor(); }
  ArenaHeader& header() const {
    return *reinterpret_cast<ArenaHeader*>(memory_.data());
  }
  // Of submission `number`, from 1.
  SubmissionSlot& slot(uint64_t number) const;
  // The tensors' memory. Its size is that which the arena was made with, whatever the
  // header has come to say.
  char* data() const { return memory_.data() + kDataOffset; }
  uint64_t data_bytes() const { return memory_.size() - kDataOffset; }

 private:
  explicit Arena(SharedMemory memory) : memory_(std::move(memory)) {}

  SharedMemory memory_;
};

// A status as shared memory holds it, and back.
void WriteResult(const absl::Status& status, SubmissionResult& result);
absl::Status ReadResult(const SubmissionResult& result);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_ARENA_H_
