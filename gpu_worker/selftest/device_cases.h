// Cases of a selftest on a CUDA device.
#ifndef EVENPACK_GPU_WORKER_SELFTEST_DEVICE_CASES_H_
#define EVENPACK_GPU_WORKER_SELFTEST_DEVICE_CASES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "gpu_worker/selftest/selftest.h"

namespace evenpack::worker {

// All ranks are threads of this process, each with a stream and an engine of its own,
// and send each other rows on the device. A case is computed three times in tensors of
// one place, by when its runs are graphs where there are such (cudnn/run_graphs.h); the
// first and the last are compared. Memory that calls take held NaNs. Not thread-safe.
class DeviceCases {
 public:
  // Errors of CudaRank::Open.
  static absl::StatusOr<std::unique_ptr<DeviceCases>> Open(
      const CudaRankOptions& options, uint32_t most_ranks);

  // Must not outlive this.
  CaseRunner Runner();

  // Of the last case that ran, the first time and the last.
  const AttentionErrors& first_errors() const { return first_errors_; }
  const AttentionErrors& last_errors() const { return last_errors_; }
  // How many graphs the ranks have.
  size_t graphs() const;

 private:
  explicit DeviceCases(std::span<const unsigned char> kernels) : kernels_(kernels) {}

  absl::StatusOr<AttentionErrors> Run(const SelftestCase& drawn,
                                      const MadeMicroBatch& made);

  const std::span<const unsigned char> kernels_;
  std::vector<std::unique_ptr<CudaRank>> ranks_;
  AttentionErrors first_errors_;
  AttentionErrors last_errors_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SELFTEST_DEVICE_CASES_H_
