#include "gpu_worker/sidecar/cuda_sidecar_form.h"

#include <utility>

#include "gpu_worker/device_arena/device_arena.h"

namespace evenpack::worker {

CudaSidecarForm::CudaSidecarForm(CudaFormOptions options,
                                 std::shared_ptr<const CudaContext> context,
                                 std::unique_ptr<CudaStream> idle)
    : options_(std::move(options)),
      context_(std::move(context)),
      idle_(std::move(idle)) {}

absl::StatusOr<std::unique_ptr<CudaSidecarForm>> CudaSidecarForm::Open(
    CudaFormOptions options) {
  // What sessions will need is found missing now.
  const absl::StatusOr<std::unique_ptr<RankForm>> rank = OnCuda(options);
  if (!rank.ok()) return rank.status();
  if (absl::Status status = (*rank)->Endpoints().status(); !status.ok()) return status;
  std::shared_ptr<const CudaContext> context = (*rank)->workplace()->context;
  absl::StatusOr<std::unique_ptr<CudaStream>> idle =
      CudaStream::Create(context, CudaStream::Priority::kLeast);
  if (!idle.ok()) return idle.status();
  return std::unique_ptr<CudaSidecarForm>(
      new CudaSidecarForm(std::move(options), std::move(context), *std::move(idle)));
}

ArenaMaker CudaSidecarForm::ArenasOf(uint64_t memory_bytes) const {
  return {ArenaKind::kCuda, memory_bytes,
          [context = context_, memory_bytes](uint64_t bytes) {
            return CreateDeviceArena(context, bytes, memory_bytes);
          }};
}

absl::Status CudaSidecarForm::Check() const { return idle_->Synchronize(); }

absl::StatusOr<std::unique_ptr<RankForm>> CudaSidecarForm::OpenRank(
    uint64_t scratch_bytes) const {
  CudaFormOptions options = options_;
  options.rank.budget = scratch_bytes;
  return OnCuda(options);
}

}  // namespace evenpack::worker
