// Sockets of the file system.
#ifndef EVENPACK_SERVER_RUNTIME_UNIX_SOCKET_H_
#define EVENPACK_SERVER_RUNTIME_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

// A file that a process which is gone has left is replaced. `mode`: who may connect.
// INVALID_ARGUMENT: the path is too long. ALREADY_EXISTS: a process listens there, as
// far as can be told, or the file is no socket. PERMISSION_DENIED, NOT_FOUND,
// UNAVAILABLE: the system refused.
absl::StatusOr<FileDescriptor> ListenAt(const std::string& path, mode_t mode);

// UNAVAILABLE: nobody listens there (yet).
absl::StatusOr<FileDescriptor> ConnectTo(const std::string& path);

// For both ends (server/runtime/hung_up.h), though the descriptor stays.
void HangUp(int connection);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_UNIX_SOCKET_H_
