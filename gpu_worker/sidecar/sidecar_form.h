// Where a sidecar computes: what its arenas lie in, and what its sessions compute with.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/arena/submission_reader.h"
#include "gpu_worker/attach/attach_listener.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/endpoint.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/session/completions.h"

namespace evenpack::worker {

// Of one session. Not thread-safe.
class SessionSeat {
 public:
  virtual ~SessionSeat() = default;

  virtual AttentionEngine& engine() = 0;
  virtual Device& device() = 0;
  virtual OpenEndpointOf endpoints() const = 0;
  // `reader` must outlive them, and so must the seat.
  virtual std::unique_ptr<Completions> CompletionsOf(SubmissionReader& reader) = 0;
};

// Thread-safe.
class SidecarForm {
 public:
  virtual ~SidecarForm() = default;

  // Of at most `memory_bytes`. The form must outlive it.
  virtual ArenaMaker ArenasOf(uint64_t memory_bytes) const = 0;
  // `scratch_bytes`: what passes may take beside the arena. Errors of the device.
  virtual absl::StatusOr<std::unique_ptr<SessionSeat>> OpenSeat(
      uint64_t scratch_bytes) const = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_
