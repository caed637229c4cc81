// A sidecar that computes on a CUDA device.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_CUDA_SIDECAR_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_CUDA_SIDECAR_FORM_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/cuda/cuda_stream.h"
#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {

// Arenas have their tensors in the device's memory; ranks meet by NCCL.
class CudaSidecarForm final : public SidecarForm {
 public:
  // All of `options` but the budget, which is the session's. FAILED_PRECONDITION: there
  // is no driver, no cuDNN or no NCCL. Errors of the device.
  static absl::StatusOr<std::unique_ptr<CudaSidecarForm>> Open(CudaFormOptions options);

  ArenaMaker ArenasOf(uint64_t memory_bytes) const override;
  absl::Status Check() const override;
  absl::StatusOr<std::unique_ptr<RankForm>> OpenRank(
      uint64_t scratch_bytes) const override;

 private:
  CudaSidecarForm(CudaFormOptions options, std::shared_ptr<const CudaContext> context,
                  std::unique_ptr<CudaStream> idle);

  const CudaFormOptions options_;
  const std::shared_ptr<const CudaContext> context_;
  // Given nothing: an error of it is one of the whole process's.
  const std::unique_ptr<CudaStream> idle_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CUDA_SIDECAR_FORM_H_
