// Connects the ranks of a Gloo group that share a folder: for ranks that have no server
// to find each other through.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_FOLDER_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_FOLDER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/gloo_endpoint.h"

namespace evenpack::worker {

struct GlooFolder {
  GlooOptions options;
  // One that all ranks can write.
  std::string folder;
  // A name that no other group has used there.
  std::string group;
};

// Returns when all ranks are connected. Errors as OpenGlooEndpoint; UNAVAILABLE: a rank
// did not come in time, or the folder can't be used. FAILED_PRECONDITION: the group's
// name was used there.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectInFolder(const GlooFolder& group);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_FOLDER_H_
