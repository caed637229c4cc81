// What a trainer in C says of its rank, as the worker's rooms have it.
#ifndef EVENPACK_GPU_WORKER_C_API_OPEN_OPTIONS_H_
#define EVENPACK_GPU_WORKER_C_API_OPEN_OPTIONS_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cpp/client_options.h"
#include "gpu_worker/c_api/evenpack_worker.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "gpu_worker/rank_worker/rank_worker.h"

namespace evenpack::worker {

// What the rank computes with.
struct FormOptions {
  // None: the processor.
  std::optional<CudaFormOptions> cuda = std::nullopt;
  // Of the processor.
  size_t threads = 1;
  GlooOptions group = {};
};

struct OpenOptions {
  client::ClientOptions client;
  RankWorkerOptions worker;
  FormOptions form;
};

// INVALID_ARGUMENT naming the field. What client, worker and form check themselves is
// left to them. The struct may end before server_timeout_ms.
absl::StatusOr<OpenOptions> ReadOptions(const EvenpackWorkerOptions* options);

// Errors of OnCuda.
absl::StatusOr<std::unique_ptr<RankForm>> OpenForm(const FormOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_OPEN_OPTIONS_H_
