// A trainer's connection to its worker.
#ifndef EVENPACK_GPU_WORKER_ATTACH_ATTACH_CLIENT_H_
#define EVENPACK_GPU_WORKER_ATTACH_ATTACH_CLIENT_H_

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/attach/attach_message.h"
#include "gpu_worker/attach/unforked_connection.h"
#include "gpu_worker/attach/worker_sockets.h"
#include "server/runtime/hung_up.h"
#include "server/runtime/unix_socket.h"

namespace evenpack::worker {

// How long one waits for the worker, which may be ending another trainer's session.
struct AttachPatience {
  // More than 0.
  std::chrono::microseconds timeout = std::chrono::minutes(10);
  // Ends it at once.
  std::stop_token stop = {};
};

// As long as it lives the worker works for this process, and for no other. To a fork of
// the process the worker is gone, and the arena, which it maps too, is not its.
class Attachment {
 public:
  const AttachToken& token() const { return token_; }
  const Arena& arena() const { return arena_; }
  // Whether the worker has gone.
  bool IsGone() const { return HasHungUp(connection_.get()); }
  // FAILED_PRECONDITION: this process is a fork of the one that is attached. Before
  // anything is written to the arena.
  absl::Status CheckProcess() const;
  // The worker takes this process for gone from here on, and is gone for it; the arena
  // stays mapped. From any thread.
  void Leave() const { HangUp(connection_.get()); }

 private:
  friend absl::StatusOr<Attachment> Attach(const std::string& path,
                                           uint64_t arena_bytes, const MapTensors& map,
                                           const AttachPatience& patience);

  Attachment(UnforkedConnection connection, const AttachToken& token, Arena arena)
      : connection_(std::move(connection)), token_(token), arena_(std::move(arena)) {}

  UnforkedConnection connection_;
  AttachToken token_;
  Arena arena_;
  pid_t process_ = getpid();
};

// To the worker that listens at `path`, which makes the arena. UNAVAILABLE: there is
// none. PERMISSION_DENIED, FAILED_PRECONDITION, RESOURCE_EXHAUSTED, INVALID_ARGUMENT:
// it refused, for another user's process, while another is attached or its arenas are
// of the other kind, for the size. DEADLINE_EXCEEDED, CANCELLED: as `patience` has it,
// which is asked once the worker's listener is there.
//
// With `map` (device_arena.h) the tensors are to be in a device's memory: that of the
// worker's device. Errors of it too.
absl::StatusOr<Attachment> Attach(const std::string& path, uint64_t arena_bytes,
                                  const MapTensors& map = nullptr,
                                  const AttachPatience& patience = {});

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_ATTACH_CLIENT_H_
