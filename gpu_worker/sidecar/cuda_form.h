// A sidecar that computes on a CUDA device.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_CUDA_FORM_H_
#define EVENPACK_GPU_WORKER_SIDECAR_CUDA_FORM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/nccl/nccl_connection.h"
#include "gpu_worker/nccl/nccl_library.h"
#include "gpu_worker/sidecar/sidecar_form.h"

namespace evenpack::worker {

struct CudaFormOptions {
  // All but the budget, which is the session's.
  CudaRankOptions rank = {};
  // As NcclLibrary::Load has it.
  std::string nccl = {};
  // How long peers are waited for.
  NcclTiming timing = {};
};

// Arenas have their tensors in the device's memory; ranks meet by NCCL.
class CudaForm final : public SidecarForm {
 public:
  // FAILED_PRECONDITION: there is no driver, no cuDNN or no NCCL. Errors of the device.
  static absl::StatusOr<std::unique_ptr<CudaForm>> Open(CudaFormOptions options);

  ArenaMaker ArenasOf(uint64_t memory_bytes) const override;
  // A rank of its own, so that none has the errors of another's.
  absl::StatusOr<std::unique_ptr<SessionSeat>> OpenSeat(
      uint64_t scratch_bytes) const override;

 private:
  CudaForm(CudaFormOptions options, std::shared_ptr<const NcclLibrary> nccl,
           std::shared_ptr<const CudaContext> context);

  const CudaFormOptions options_;
  const std::shared_ptr<const NcclLibrary> nccl_;
  const std::shared_ptr<const CudaContext> context_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_CUDA_FORM_H_
