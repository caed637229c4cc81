// Errors of cuDNN's frontend as ours.
#ifndef EVENPACK_GPU_WORKER_CUDNN_FRONTEND_STATUS_H_
#define EVENPACK_GPU_WORKER_CUDNN_FRONTEND_STATUS_H_

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack::worker {

// UNIMPLEMENTED: there is no kernel for what it was asked; else INTERNAL. `what` was
// not done: "to build a plan".
inline absl::Status StatusOf(cudnn_frontend::error_t error, const std::string& what) {
  if (error.is_good()) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cuDNN failed ", what, ": ", error.get_message());
  return error.get_code() == cudnn_frontend::error_code_t::GRAPH_NOT_SUPPORTED ||
                 error.get_code() ==
                     cudnn_frontend::error_code_t::HEURISTIC_QUERY_FAILED
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

// What `call` comes to, or INTERNAL: the frontend throws where it doesn't find what it
// calls.
template <typename Call>
absl::Status Caught(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cuDNN failed: ", error.what()));
  }
}

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_FRONTEND_STATUS_H_
