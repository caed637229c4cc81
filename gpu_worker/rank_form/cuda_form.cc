#include <span>
#include <utility>

#include "gpu_worker/nccl/nccl_endpoint.h"
#include "gpu_worker/nccl/nccl_library.h"
#include "gpu_worker/rank_form/rank_form.h"

namespace evenpack::worker {
namespace {

// Of a group of heads: as docs/performance.md has it measured on an H200.
constexpr size_t kLeastGroupBytes = size_t{128} << 20;

class CudaForm final : public RankForm {
 public:
  CudaForm(std::unique_ptr<CudaRank> rank, const CudaFormOptions& options)
      : rank_(std::move(rank)),
        timing_(options.group),
        nccl_(options.nccl),
        kernels_(options.rank.kernels) {}

  AttentionEngine& engine() override { return rank_->engine(); }
  Device& device() override { return rank_->device(); }
  const CudaWorkplace* workplace() const override { return &rank_->where(); }
  size_t least_group_bytes() const override { return kLeastGroupBytes; }
  absl::StatusOr<OpenEndpointOf> Endpoints() const override {
    absl::StatusOr<std::shared_ptr<const NcclLibrary>> library =
        NcclLibrary::Load(nccl_);
    if (!library.ok()) return library.status();
    return NcclEndpoints(
        *std::move(library),
        {.timing = timing_, .device = rank_->where(), .kernels = kernels_});
  }

  absl::Status After(cuda::Stream stream) const override {
    return rank_->After(stream);
  }
  absl::Status Before(cuda::Stream stream) const override {
    return rank_->Before(stream);
  }

 private:
  const std::unique_ptr<CudaRank> rank_;
  const NcclTiming timing_;
  const std::string nccl_;
  const std::span<const unsigned char> kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RankForm>> OnCuda(const CudaFormOptions& options) {
  absl::StatusOr<std::unique_ptr<CudaRank>> rank = CudaRank::Open(options.rank);
  if (!rank.ok()) return rank.status();
  return std::make_unique<CudaForm>(*std::move(rank), options);
}

}  // namespace evenpack::worker
