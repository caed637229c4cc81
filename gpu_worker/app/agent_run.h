// evenpack-worker as a node's plan agent, until it is told to end.
#ifndef EVENPACK_GPU_WORKER_APP_AGENT_RUN_H_
#define EVENPACK_GPU_WORKER_APP_AGENT_RUN_H_

#include "absl/status/status.h"
#include "gpu_worker/app/worker_options.h"

namespace evenpack::worker {

// Prints "grpc listening on ADDRESS" and, where it is to have that port, "http
// listening on HOST:PORT"; returns as EndSignal does, or ends the process itself where
// a client's connection would not close. Once.
absl::Status RunAgent(const WorkerOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_AGENT_RUN_H_
