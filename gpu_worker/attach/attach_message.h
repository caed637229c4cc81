// What a trainer and its worker say to each other when the one attaches to the other.
#ifndef EVENPACK_GPU_WORKER_ATTACH_ATTACH_MESSAGE_H_
#define EVENPACK_GPU_WORKER_ATTACH_ATTACH_MESSAGE_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena_format.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack::worker {

// Shows a call to be from the process that the arena was given to.
using AttachToken = std::array<uint8_t, 16>;

struct AttachRequest {
  uint64_t magic = kArenaMagic;
  uint32_t version = kArenaVersion;
  // Of the tensors' memory, as the trainer can map it.
  ArenaKind kind = ArenaKind::kHost;
  // Of tensors.
  uint64_t arena_bytes = 0;
};

// The arena's descriptors go with it where the result is OK.
struct AttachReply {
  AttachToken token = {};
  SubmissionResult result;
};

// That of the arena, and of its tensors where they are a device's; -1: none.
struct ArenaDescriptors {
  int arena = -1;
  int tensors = -1;
};

// Blocks, at most as long as the socket's time-outs have it. UNAVAILABLE: the other end
// is gone or too slow.
absl::Status SendRequest(int connection, const AttachRequest& request);
absl::StatusOr<AttachRequest> ReceiveRequest(int connection);
absl::Status SendReply(int connection, const AttachReply& reply,
                       const ArenaDescriptors& descriptors);

struct ReceivedReply {
  AttachReply reply;
  FileDescriptor arena;
  FileDescriptor tensors;
};
absl::StatusOr<ReceivedReply> ReceiveReply(int connection);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_ATTACH_MESSAGE_H_
