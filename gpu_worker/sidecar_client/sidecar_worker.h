// A trainer's worker in a process of its own: tensors lie in memory that both have, and
// what is to be done with them is enqueued.
//
//   auto worker = SidecarWorker::Open({.socket_folder = "/run/evenpack",
//                                      .job = "run-7", .dp_rank = 3, .cp_rank = 1,
//                                      .member = "host-9/1", .shape = shape});
//   auto query = (*worker)->Allocate(bytes);                     // and the others
//   do {
//     (*worker)->BeginStep(step);
//     (*worker)->Forward(step, micro_batch, rows, tensors);      // each layer
//     (*worker)->Backward(step, micro_batch, rows, tensors);
//     auto end = (*worker)->EndStep(step);
//     status = end.ok() ? (*worker)->Wait(*end) : end.status();
//   } while (absl::IsAborted(status));                           // the step anew
#ifndef EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_WORKER_H_
#define EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_WORKER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/sidecar_client/sidecar_link.h"
#include "server/core/digest/digest.h"

namespace evenpack::worker {

struct SidecarWorkerOptions {
  // The worker's --socket-folder.
  std::string socket_folder;
  // Of tensors; at most the worker's --memory.
  uint64_t arena_bytes = uint64_t{1} << 30;
  // Null: they are in the processes' memory, of a worker with --device cpu; of one on a
  // CUDA device: MapOnDevice (device_arena.h).
  MapTensors map = nullptr;
  std::string job;
  uint32_t dp_rank = 0;
  uint32_t cp_rank = 0;
  // The step that is begun first, and the digest of the one before.
  uint64_t from_step = 0;
  std::optional<Digest128> last_digest;
  // Names this session, and no other before or after it: 1 to 256 bytes.
  std::string member;
  AttentionShape shape;
  // As ExecutorOptions has it; 0: the worker's default.
  uint32_t head_groups = 0;
  // Until the worker has answered and heard from the packing server; more than 0.
  std::chrono::milliseconds open_timeout = std::chrono::minutes(10);
};

// A link with an open session.
class SidecarWorker : public SidecarLink {
 public:
  // Errors of Attach() and of OpenSession; DEADLINE_EXCEEDED after open_timeout.
  static absl::StatusOr<std::unique_ptr<SidecarWorker>> Open(
      const SidecarWorkerOptions& options);
  // Ends the session.
  ~SidecarWorker();
  SidecarWorker(const SidecarWorker&) = delete;
  SidecarWorker& operator=(const SidecarWorker&) = delete;

  uint32_t cp_size() const { return cp_size_; }

 private:
  SidecarWorker(Attachment attachment, std::string socket_folder);

  absl::Status OpenSession(const SidecarWorkerOptions& options,
                           std::chrono::system_clock::time_point deadline);

  const std::string socket_folder_;
  uint32_t cp_size_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_WORKER_H_
