// A trainer's end of the memory that it shares with its worker: tensors, and a ring of
// submissions. Who opens the worker's session is the caller's affair (sidecar_worker.h
// does it over gRPC).
#ifndef EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_LINK_H_
#define EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_LINK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena_allocator.h"
#include "gpu_worker/arena/submission_writer.h"
#include "gpu_worker/attach/attach_client.h"

namespace evenpack::worker {

// Memory in the arena. `data` is an address of the device where its tensors are there.
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

// Not thread-safe, but for SignalReady() and Leave().
//
// In a fork of the process that is attached, Allocate() and submissions have
// FAILED_PRECONDITION, and SignalReady() no effect: the arena is its parent's.
//
// Submissions return their number at once, and are done in order: Wait() has their
// errors (ring_executor.h). Until a submission is done its tensors must stay as they
// are.
class SidecarLink {
 public:
  explicit SidecarLink(Attachment attachment);
  SidecarLink(const SidecarLink&) = delete;
  SidecarLink& operator=(const SidecarLink&) = delete;

  // What shows OpenSession to be this process's: 16 bytes.
  std::string token() const;
  // Whether the worker has gone.
  bool IsGone() const { return attachment_.IsGone(); }
  // Ends what waits, with UNAVAILABLE. The worker drops what isn't done, and may take
  // another trainer; the tensors stay until the link is destroyed.
  void Leave() const { attachment_.Leave(); }

  const Arena& arena() const { return attachment_.arena(); }
  // RESOURCE_EXHAUSTED: the arena is full.
  absl::StatusOr<ArenaBlock> Allocate(uint64_t bytes);
  void Free(const ArenaBlock& block) { allocator_.Free(block.offset); }

  absl::StatusOr<uint64_t> BeginStep(uint64_t step);
  // `micro_batch`: its index within the step. `rows`: tokens and padding that the rank
  // holds of it. It begins once SignalReady() has said `ready`. The worker compares
  // `plan`, the digest of the micro-batch's, with that of its own unless it is 0.
  absl::StatusOr<uint64_t> Forward(uint64_t step, uint32_t micro_batch, uint64_t rows,
                                   const ArenaTensors& tensors, uint64_t ready = 0,
                                   const Digest128& plan = {});
  absl::StatusOr<uint64_t> Backward(uint64_t step, uint32_t micro_batch, uint64_t rows,
                                    const ArenaTensors& tensors, uint64_t ready = 0,
                                    const Digest128& plan = {});
  absl::StatusOr<uint64_t> EndStep(uint64_t step);

  // Inputs that submissions wait for are there, up to this value.
  void SignalReady(uint64_t value);
  // Whether it has that number. INVALID_ARGUMENT: it was not made.
  absl::Status CheckSubmitted(uint64_t number) const {
    return writer_.CheckSubmitted(number);
  }
  // As SubmissionWriter.
  absl::Status Wait(uint64_t number) { return writer_.Wait(number); }

 private:
  absl::StatusOr<uint64_t> Submit(const Submission& submission);
  absl::StatusOr<uint64_t> SubmitMark(SubmissionKind kind, uint64_t step);
  absl::StatusOr<uint64_t> SubmitPass(Submission submission,
                                      const ArenaTensors& tensors);

  const Attachment attachment_;
  ArenaAllocator allocator_;
  SubmissionWriter writer_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CLIENT_SIDECAR_LINK_H_
