// evenpack-worker as a trainer's sidecar, until it is told to end.
#ifndef EVENPACK_GPU_WORKER_APP_SERVE_RUN_H_
#define EVENPACK_GPU_WORKER_APP_SERVE_RUN_H_

#include "absl/status/status.h"
#include "gpu_worker/app/worker_options.h"

namespace evenpack::worker {

// Prints "http listening on HOST:PORT", where it is to have that port, and "serving at
// FOLDER" once both sockets are there; returns as EndSignal does. Once.
absl::Status Serve(const WorkerOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_SERVE_RUN_H_
