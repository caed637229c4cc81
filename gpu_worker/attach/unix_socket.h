// Sockets of the file system.
#ifndef EVENPACK_GPU_WORKER_ATTACH_UNIX_SOCKET_H_
#define EVENPACK_GPU_WORKER_ATTACH_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/arena/shared_memory.h"

namespace evenpack::worker {

// A worker's sockets, in the folder that it was given for them: for its arena, and for
// its gRPC service.
std::string AttachSocketIn(const std::string& folder);
std::string ServiceSocketIn(const std::string& folder);

// A file that a process which is gone has left is replaced. `mode`: who may connect.
// INVALID_ARGUMENT: the path is too long. ALREADY_EXISTS: a process listens there, or
// the file is no socket. PERMISSION_DENIED, NOT_FOUND, UNAVAILABLE: the system refused.
absl::StatusOr<OwnedDescriptor> ListenAt(const std::string& path, mode_t mode);

// UNAVAILABLE: nobody listens there (yet).
absl::StatusOr<OwnedDescriptor> ConnectTo(const std::string& path);

// For both ends (server/runtime/hung_up.h), though the descriptor stays.
void HangUp(int connection);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_UNIX_SOCKET_H_
