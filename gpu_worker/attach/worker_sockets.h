// Where a worker's sockets are, in the folder that it was given for them.
#ifndef EVENPACK_GPU_WORKER_ATTACH_WORKER_SOCKETS_H_
#define EVENPACK_GPU_WORKER_ATTACH_WORKER_SOCKETS_H_

#include <string>

namespace evenpack::worker {

// For its arena.
inline std::string AttachSocketIn(const std::string& folder) {
  return folder + "/attach.sock";
}
// For its gRPC service.
inline std::string ServiceSocketIn(const std::string& folder) {
  return folder + "/worker.sock";
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_WORKER_SOCKETS_H_
