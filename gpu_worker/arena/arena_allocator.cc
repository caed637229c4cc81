#include "gpu_worker/arena/arena_allocator.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gpu_worker/arena/arena_format.h"

namespace evenpack::worker {

ArenaAllocator::ArenaAllocator(uint64_t bytes)
    : bytes_(bytes / kTensorAlignment * kTensorAlignment) {
  if (bytes_ > 0) free_.emplace(0, bytes_);
}

absl::StatusOr<uint64_t> ArenaAllocator::Allocate(uint64_t bytes) {
  uint64_t largest = 0;
  for (const auto& [offset, size] : free_) {
    largest = std::max(largest, size);
    if (size < std::max<uint64_t>(bytes, 1)) continue;
    const uint64_t begin = offset;
    const uint64_t left = size;
    // No overflow: it is at most `size`, a multiple.
    const uint64_t taken = (std::max<uint64_t>(bytes, 1) + kTensorAlignment - 1) /
                           kTensorAlignment * kTensorAlignment;
    free_.erase(begin);
    if (left > taken) free_.emplace(begin + taken, left - taken);
    taken_.emplace(begin, taken);
    used_ += taken;
    return begin;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("arena_bytes: ", bytes, " bytes are not free; accepted: up to ",
                   largest, ", of ", bytes_, " that the arena has"));
}

void ArenaAllocator::Free(uint64_t offset) {
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return;
  used_ -= found->second;
  auto block = free_.emplace(offset, found->second).first;
  taken_.erase(found);
  if (const auto next = std::next(block);
      next != free_.end() && next->first == block->first + block->second) {
    block->second += next->second;
    free_.erase(next);
  }
  if (block == free_.begin()) return;
  if (const auto before = std::prev(block);
      before->first + before->second == block->first) {
    before->second += block->second;
    free_.erase(block);
  }
}

}  // namespace evenpack::worker
