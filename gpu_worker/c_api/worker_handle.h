// What the C API's handle is.
#ifndef EVENPACK_GPU_WORKER_C_API_WORKER_HANDLE_H_
#define EVENPACK_GPU_WORKER_C_API_WORKER_HANDLE_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "gpu_worker/c_api/checked_rank.h"
#include "gpu_worker/c_api/evenpack_worker.h"
#include "gpu_worker/c_api/step_columns.h"

struct EvenpackWorker {
  std::unique_ptr<evenpack::worker::CheckedRank> rank;
  // Of the last step's micro-batches that were asked for.
  std::map<uint32_t, evenpack::worker::MicroBatchColumns> columns = {};
  // Message of the last error.
  std::string error = {};
  // Has the worker's threads, which its forks don't.
  pid_t process = getpid();
};

#endif  // EVENPACK_GPU_WORKER_C_API_WORKER_HANDLE_H_
