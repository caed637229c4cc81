// A sidecar that computes on the processor.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_HOST_SIDECAR_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_HOST_SIDECAR_FORM_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {

class HostSidecarForm final : public SidecarForm {
 public:
  // As OnProcessor.
  explicit HostSidecarForm(uint32_t threads = 1, GlooOptions group = {})
      : threads_(threads), group_(std::move(group)) {}

  ArenaMaker ArenasOf(uint64_t memory_bytes) const override;
  absl::StatusOr<std::unique_ptr<RankForm>> OpenRank(
      uint64_t scratch_bytes) const override;

 private:
  const uint32_t threads_;
  const GlooOptions group_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_HOST_SIDECAR_FORM_H_
