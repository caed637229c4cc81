// A sidecar that computes on the processor.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_HOST_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_HOST_FORM_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {

struct HostFormOptions {
  // How peers reach a rank, and how long they are waited for.
  GlooOptions group = {};
  // Of the engine.
  uint32_t threads = 1;
};

class HostForm final : public SidecarForm {
 public:
  explicit HostForm(HostFormOptions options) : options_(std::move(options)) {}

  ArenaMaker ArenasOf(uint64_t memory_bytes) const override;
  absl::StatusOr<std::unique_ptr<SessionSeat>> OpenSeat(
      uint64_t scratch_bytes) const override;

 private:
  const HostFormOptions options_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_HOST_FORM_H_
