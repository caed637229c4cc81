// A connection that is this process's, and not its forks'.
#ifndef EVENPACK_GPU_WORKER_ATTACH_UNFORKED_CONNECTION_H_
#define EVENPACK_GPU_WORKER_ATTACH_UNFORKED_CONNECTION_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack::worker {

// The other end finds it hung up when this process has ended or let go, whatever forks
// of the process live: to a fork it is a connection whose other end has gone.
class UnforkedConnection {
 public:
  // Errors of ConnectTo (server/runtime/unix_socket.h). Thread-safe.
  static absl::StatusOr<UnforkedConnection> To(const std::string& path);
  ~UnforkedConnection();
  UnforkedConnection(UnforkedConnection&&) = default;
  UnforkedConnection& operator=(UnforkedConnection&&) = delete;

  int get() const { return descriptor_.get(); }

 private:
  explicit UnforkedConnection(FileDescriptor descriptor)
      : descriptor_(std::move(descriptor)) {}

  FileDescriptor descriptor_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_UNFORKED_CONNECTION_H_
