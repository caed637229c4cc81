// Where a sidecar computes: what its arenas lie in, and what its sessions compute with.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attach/attach_listener.h"
#include "gpu_worker/rank_form/rank_form.h"

namespace evenpack::worker {

// Thread-safe.
class SidecarForm {
 public:
  virtual ~SidecarForm() = default;

  // Of at most `memory_bytes`. The form must outlive it.
  virtual ArenaMaker ArenasOf(uint64_t memory_bytes) const = 0;
  // OK, or INTERNAL: the device failed so that this process can compute nothing on it
  // any more, as after a kernel's illegal address.
  virtual absl::Status Check() const { return absl::OkStatus(); }
  // Of one session, so that none has the errors of another's, but for what Check()
  // tells. `scratch_bytes`: what passes may take beside the arena. Errors of the
  // device.
  virtual absl::StatusOr<std::unique_ptr<RankForm>> OpenRank(
      uint64_t scratch_bytes) const = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_FORM_H_
