// What a rank computes with, and over what it meets its peers: threads of this process
// and Gloo, or a CUDA device and NCCL.
#ifndef EVENPACK_GPU_WORKER_RANK_FORM_RANK_FORM_H_
#define EVENPACK_GPU_WORKER_RANK_FORM_RANK_FORM_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/endpoint.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/cuda/cuda_abi.h"
#include "gpu_worker/cuda/cuda_workplace.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/nccl/nccl_connection.h"

namespace evenpack::worker {

// Bytes that an address in a device's memory is a multiple of, where heads lie there: a
// kernel that reads at another ends all that the process does on the device.
inline constexpr size_t kDeviceAlignment = 16;

// Must outlive whatever computes with it. Not thread-safe, but for Endpoints and what
// is constant.
class RankForm {
 public:
  virtual ~RankForm() = default;

  virtual AttentionEngine& engine() = 0;
  // Where its tensors are.
  virtual Device& device() = 0;
  // On a CUDA device; null: in this process's memory.
  virtual const CudaWorkplace* workplace() const = 0;
  // ExecutorOptions::least_group_bytes that suit it.
  virtual size_t least_group_bytes() const = 0;
  // For groups of several ranks. FAILED_PRECONDITION: there is no NCCL.
  virtual absl::StatusOr<OpenEndpointOf> Endpoints() const = 0;

  // As CudaRank has them. On the processor nothing, whatever the stream.
  virtual absl::Status After(cuda::Stream stream) const = 0;
  virtual absl::Status Before(cuda::Stream stream) const = 0;

  // Of the CUDA device among those that the process sees; none: on the processor.
  std::optional<int> cuda_device() const {
    if (workplace() == nullptr) return std::nullopt;
    return workplace()->context->device();
  }
};

// Of so many threads, the caller's among them; at least 1. RESOURCE_EXHAUSTED: the
// system has no room for them.
absl::StatusOr<std::unique_ptr<RankForm>> OnProcessor(size_t threads,
                                                      const GlooOptions& group = {});

struct CudaFormOptions {
  CudaRankOptions rank = {};
  NcclTiming group = {};
  // As NcclLibrary::Load has it.
  std::string nccl = {};
};

// Errors of CudaRank::Open.
absl::StatusOr<std::unique_ptr<RankForm>> OnCuda(const CudaFormOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_RANK_FORM_RANK_FORM_H_
