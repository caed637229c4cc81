// evenpack.v1.WorkerService, over a sidecar.
#ifndef EVENPACK_GPU_WORKER_SERVICE_WORKER_SERVICE_H_
#define EVENPACK_GPU_WORKER_SERVICE_WORKER_SERVICE_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/attach/attach_listener.h"
#include "gpu_worker/sidecar/sidecar.h"

namespace evenpack::worker {

struct WorkerServerOptions {
  // Where the two sockets are made; it must be there.
  std::string socket_folder;
  // Whose processes may attach.
  uid_t trainer_user = 0;
  // Of a client that waits for an answer: one that pings more often is cut off.
  // Python's pings every 30 s, and its users may have it every 10 s.
  std::chrono::milliseconds least_ping = std::chrono::seconds(10);
  SidecarOptions sidecar;
};

// A worker without its main: both sockets, until it is destroyed.
class WorkerServer {
 public:
  // Serves when it returns. Errors of ListenAt.
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Start(
      const client::Client& client, const WorkerServerOptions& options);
  // Ends the session, if there is one.
  ~WorkerServer();
  WorkerServer(const WorkerServer&) = delete;
  WorkerServer& operator=(const WorkerServer&) = delete;

  // Thread-safe.
  SidecarStatus status() const;

 private:
  class Rooms;
  explicit WorkerServer(std::unique_ptr<Rooms> rooms);

  const std::unique_ptr<Rooms> rooms_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SERVICE_WORKER_SERVICE_H_
