#include "gpu_worker/sidecar/host_sidecar_form.h"

namespace evenpack::worker {

ArenaMaker HostSidecarForm::ArenasOf(uint64_t memory_bytes) const {
  return {.max_bytes = memory_bytes};
}

absl::StatusOr<std::unique_ptr<RankForm>> HostSidecarForm::OpenRank(
    uint64_t /*scratch_bytes*/) const {
  return OnProcessor(threads_, group_);
}

}  // namespace evenpack::worker
