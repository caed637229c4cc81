// What lies where in an arena: a header, a ring of submissions, and the tensors.
//
// Both sides are built for the same machine; the version changes with any of this.
#ifndef EVENPACK_GPU_WORKER_ARENA_ARENA_FORMAT_H_
#define EVENPACK_GPU_WORKER_ARENA_ARENA_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu_worker/arena/timeline.h"
#include "server/core/digest/digest.h"

namespace evenpack::worker {

inline constexpr uint64_t kArenaMagic = 0x6b6361706e657665;  // "evenpack"
inline constexpr uint32_t kArenaVersion = 3;
// Submissions that can be under way.
inline constexpr uint64_t kRingSlots = 256;
// Of the tensors' first elements.
inline constexpr uint64_t kTensorAlignment = 64;

// Where the tensors are: behind the ring, in the processes' memory, or in memory of a
// CUDA device, which has a descriptor of its own.
enum class ArenaKind : uint32_t {
  kHost = 0,
  kCuda = 1,
};

// As the device has it, whatever its number is in a process; all 0: none.
using DeviceUuid = std::array<uint8_t, 16>;

enum class SubmissionKind : uint32_t {
  kBeginStep = 1,
  kForward = 2,
  kBackward = 3,
  kEndStep = 4,
};

// Tensors of a pass; a forward pass has the first five.
enum ArenaTensor : uint32_t {
  kQuery,
  kKey,
  kValue,
  kOutput,
  kLogSumExp,
  kOutputGradient,
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
};
inline constexpr uint32_t kForwardTensors = 5;
inline constexpr uint32_t kBackwardTensors = 9;

// What the trainer asks for.
struct Submission {
  SubmissionKind kind = SubmissionKind::kBeginStep;
  // Index within the step; of a pass.
  uint32_t micro_batch = 0;
  uint64_t step = 0;
  // Rows that each of the tensors has: tokens and padding that the rank holds.
  uint64_t rows = 0;
  // It begins once the trainer's `ready` has this value.
  uint64_t ready = 0;
  // By ArenaTensor: where it begins, in bytes from the first of the tensors' memory. Of
  // the types and strides of AttentionInput and its kin.
  uint64_t tensors[kBackwardTensors] = {};
  // Of the micro-batch's plan as the trainer has it (PlanDigest); all 0: not told.
  Digest128 plan;
};

// What the worker says of it.
struct SubmissionResult {
  static constexpr size_t kMessageBytes = 352;

  // Of CLOCK_MONOTONIC: when it was taken and its inputs were ready; when it was done.
  int64_t started_ns = 0;
  int64_t finished_ns = 0;
  // absl::StatusCode; the message is cut where it is longer.
  uint32_t code = 0;
  uint32_t message_size = 0;
  char message[kMessageBytes] = {};
};

struct alignas(64) SubmissionSlot {
  Submission submission;
  SubmissionResult result;
};
static_assert(sizeof(SubmissionSlot) == 512);

struct ArenaHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t slots;
  // Of the tensors, behind the ring; where they are a device's, the ring ends there.
  uint64_t data_offset;
  uint64_t data_bytes;
  ArenaKind kind;
  // Of kCuda.
  DeviceUuid device;
  // Advanced by the trainer: submissions made, and what `Submission::ready` waits for.
  Timeline submitted;
  Timeline ready;
  // Advanced by the worker: submissions done, and 1 once it takes no more of them.
  Timeline completed;
  Timeline ended;
  // Why it has ended.
  SubmissionResult end;
};

inline constexpr size_t kRingOffset = 4096;
inline constexpr size_t kDataOffset = kRingOffset + kRingSlots * sizeof(SubmissionSlot);
static_assert(sizeof(ArenaHeader) <= kRingOffset && kDataOffset % 4096 == 0);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ARENA_ARENA_FORMAT_H_
