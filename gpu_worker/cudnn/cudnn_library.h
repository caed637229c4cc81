// The process's cuDNN, which is found when it runs.
#ifndef EVENPACK_GPU_WORKER_CUDNN_CUDNN_LIBRARY_H_
#define EVENPACK_GPU_WORKER_CUDNN_CUDNN_LIBRARY_H_

#include <string>

#include "absl/status/status.h"

namespace evenpack::worker {

// As OpenCudnn has it. Before anything is asked of the frontend. Thread-safe.
absl::Status LoadCudnn(const std::string& path);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_CUDNN_LIBRARY_H_
