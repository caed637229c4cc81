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
#include "gpu_worker/arena/arena_allocator.h"
#include "gpu_worker/arena/submission_writer.h"
#include "gpu_worker/attach/attach_client.h"
#include "gpu_worker/attention/attention_shape.h"
#include "server/core/digest/digest.h"

namespace evenpack::worker {

struct SidecarWorkerOptions {
  // The worker's --socket-folder.
  std::string socket_folder;
  // Of tensors; at most the worker's --memory.
  uint64_t arena_bytes = uint64_t{1} << 30;
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
  // Until the worker has heard from the packing server.
  std::chrono::milliseconds open_timeout = std::chrono::minutes(10);
};

// Memory in the arena.
struct ArenaBlock {
  uint64_t offset = 0;
  void* data = nullptr;
};

// Where a pass's tensors begin in the arena: ArenaBlock::offset. THD rows as
// AttentionInput and its kin have them; a forward pass has those up to log_sum_exp.
struct ArenaTensors {
  uint64_t query = 0;
  uint64_t key = 0;
  uint64_t value = 0;
  uint64_t output = 0;
  uint64_t log_sum_exp = 0;
  uint64_t output_gradient = 0;
  uint64_t query_gradient = 0;
  uint64_t key_gradient = 0;
  uint64_t value_gradient = 0;
};

// Not thread-safe, but for SignalReady().
//
// Submissions return their number at once, and are done in order: Wait() has their
// errors (ring_executor.h). Until a submission is done its tensors must stay as they
// are.
class SidecarWorker {
 public:
  // Errors of Attach() and of OpenSession; DEADLINE_EXCEEDED after open_timeout.
  static absl::StatusOr<std::unique_ptr<SidecarWorker>> Open(
      const SidecarWorkerOptions& options);
  // Ends the session.
  ~SidecarWorker();
  SidecarWorker(const SidecarWorker&) = delete;
  SidecarWorker& operator=(const SidecarWorker&) = delete;

  uint32_t cp_size() const { return cp_size_; }

  // RESOURCE_EXHAUSTED: the arena is full.
  absl::StatusOr<ArenaBlock> Allocate(uint64_t bytes);
  void Free(const ArenaBlock& block) { allocator_.Free(block.offset); }

  absl::StatusOr<uint64_t> BeginStep(uint64_t step);
  // `micro_batch`: its index within the step. `rows`: tokens and padding that the rank
  // holds of it. It begins once SignalReady() has said `ready`.
  absl::StatusOr<uint64_t> Forward(uint64_t step, uint32_t micro_batch, uint64_t rows,
                                   const ArenaTensors& tensors, uint64_t ready = 0);
  absl::StatusOr<uint64_t> Backward(uint64_t step, uint32_t micro_batch, uint64_t rows,
                                    const ArenaTensors& tensors, uint64_t ready = 0);
  absl::StatusOr<uint64_t> EndStep(uint64_t step);

  // Inputs that submissions wait for are there, up to this value.
  void SignalReady(uint64_t value) { writer_.SignalReady(value); }
  // As SubmissionWriter.
  absl::Status Wait(uint64_t number) { return writer_.Wait(number); }

 private:
  SidecarWorker(Attachment attachment, std::string socket_folder);

  absl::StatusOr<uint64_t> Submit(SubmissionKind kind, uint64_t step);
  absl::StatusOr<uint64_t> SubmitPass(Submission submission,
                                      const ArenaTensors& tensors);
  absl::Status OpenSession(const SidecarWorkerOptions& options);

  const std::string socket_folder_;
  const Attachment attachment_;
  ArenaAllocator allocator_;
  SubmissionWriter writer_;
  uint32_t cp_size_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_WORKER_H_
