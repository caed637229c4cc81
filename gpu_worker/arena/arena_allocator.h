// Which parts of an arena's memory are in use.
#ifndef EVENPACK_GPU_WORKER_ARENA_ARENA_ALLOCATOR_H_
#define EVENPACK_GPU_WORKER_ARENA_ARENA_ALLOCATOR_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"

namespace evenpack::worker {

// The first block that is large enough. Blocks are rounded up to kTensorAlignment. Not
// thread-safe.
class ArenaAllocator {
 public:
  explicit ArenaAllocator(uint64_t bytes);

  // The offset of a block; of 0 bytes too. RESOURCE_EXHAUSTED naming what was asked
  // for, the largest block that is free, and the size of all.
  absl::StatusOr<uint64_t> Allocate(uint64_t bytes);
  // What Allocate returned, once.
  void Free(uint64_t offset);

  uint64_t used_bytes() const { return used_; }

 private:
  const uint64_t bytes_;
  uint64_t used_ = 0;
  // Sizes by offset. No two free blocks touch.
  std::map<uint64_t, uint64_t> free_;
  std::map<uint64_t, uint64_t> taken_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_ARENA_ALLOCATOR_H_
