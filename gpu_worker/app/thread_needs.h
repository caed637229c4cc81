// How many threads a run of evenpack-worker has.
#ifndef EVENPACK_GPU_WORKER_APP_THREAD_NEEDS_H_
#define EVENPACK_GPU_WORKER_APP_THREAD_NEEDS_H_

#include <cstddef>

#include "gpu_worker/app/worker_options.h"

namespace evenpack::worker {

// At most, for CheckThreads(): of ranks and their engines, of what answers calls, and
// of gRPC and Gloo.
size_t ThreadsNeeded(const WorkerOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_THREAD_NEEDS_H_
