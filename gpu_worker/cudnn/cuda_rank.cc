#include "gpu_worker/cudnn/cuda_rank.h"

#include <utility>

#include "gpu_worker/cuda/cuda_graph.h"

namespace evenpack::worker {

absl::StatusOr<std::unique_ptr<CudaRank>> CudaRank::Open(
    const CudaRankOptions& options) {
  const absl::StatusOr<std::shared_ptr<const CudaDriver>> driver =
      CudaDriver::Load(options.driver);
  if (!driver.ok()) return driver.status();
  absl::StatusOr<std::shared_ptr<const CudaContext>> context =
      CudaContext::Open(*driver, options.device);
  if (!context.ok()) return context.status();
  absl::StatusOr<std::shared_ptr<CudaMemory>> memory =
      CudaMemory::Create(*context, options.budget);
  if (!memory.ok()) return memory.status();
  absl::StatusOr<std::unique_ptr<CudaStream>> compute =
      CudaStream::Create(*context, CudaStream::Priority::kLeast);
  if (!compute.ok()) return compute.status();
  std::unique_ptr<CudaRank> rank(new CudaRank(*context));
  rank->compute_ = *std::move(compute);
  rank->where_ = {*context, *memory, rank->compute_->handle()};
  absl::StatusOr<std::unique_ptr<CudaDevice>> device =
      CudaDevice::Create(*context, *memory, rank->where_.compute, options.kernels);
  if (!device.ok()) return device.status();
  rank->device_ = *std::move(device);
  absl::StatusOr<std::unique_ptr<AttentionPlanner>> planner =
      options.open_planner(*context);
  if (!planner.ok()) return planner.status();
  absl::StatusOr<std::unique_ptr<CudnnAttention>> engine = CudnnAttention::Create(
      rank->where_, *std::move(planner), options.attention, options.kernels);
  if (!engine.ok()) return engine.status();
  rank->engine_ = *std::move(engine);
  return rank;
}

absl::Status CudaRank::After(cuda::Stream stream) {
  absl::Status status = CheckIsNotCaptured(*where_.context, stream);
  return status.ok() ? order_.Order(stream, where_.compute) : status;
}

absl::Status CudaRank::Before(cuda::Stream stream) {
  return order_.Order(where_.compute, stream);
}

}  // namespace evenpack::worker
