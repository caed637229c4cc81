#include "gpu_worker/sidecar/cuda_form.h"

#include <utility>

#include "gpu_worker/device_arena/device_arena.h"
#include "gpu_worker/nccl/nccl_endpoint.h"
#include "gpu_worker/session/device_completions.h"

namespace evenpack::worker {
namespace {

class CudaSeat final : public SessionSeat {
 public:
  CudaSeat(std::unique_ptr<CudaRank> rank, std::shared_ptr<const NcclLibrary> nccl,
           const NcclTiming& timing)
      : rank_(std::move(rank)), nccl_(std::move(nccl)), timing_(timing) {}

  AttentionEngine& engine() override { return rank_->engine(); }
  Device& device() override { return rank_->device(); }
  OpenEndpointOf endpoints() const override {
    return NcclEndpoints(nccl_, {.timing = timing_, .device = rank_->where()});
  }
  std::unique_ptr<Completions> CompletionsOf(SubmissionReader& reader) override {
    return std::make_unique<DeviceCompletions>(reader, rank_->where().context,
                                               rank_->where().compute);
  }

 private:
  const std::unique_ptr<CudaRank> rank_;
  const std::shared_ptr<const NcclLibrary> nccl_;
  const NcclTiming timing_;
};

}  // namespace

CudaForm::CudaForm(CudaFormOptions options, std::shared_ptr<const NcclLibrary> nccl,
                   std::shared_ptr<const CudaContext> context)
    : options_(std::move(options)),
      nccl_(std::move(nccl)),
      context_(std::move(context)) {}

absl::StatusOr<std::unique_ptr<CudaForm>> CudaForm::Open(CudaFormOptions options) {
  // What sessions will need is found missing now.
  const absl::StatusOr<std::unique_ptr<CudaRank>> rank = CudaRank::Open(options.rank);
  if (!rank.ok()) return rank.status();
  absl::StatusOr<std::shared_ptr<const NcclLibrary>> nccl =
      NcclLibrary::Load(options.nccl);
  if (!nccl.ok()) return nccl.status();
  return std::unique_ptr<CudaForm>(
      new CudaForm(std::move(options), *std::move(nccl), (*rank)->where().context));
}

ArenaMaker CudaForm::ArenasOf(uint64_t memory_bytes) const {
  return {ArenaKind::kCuda, memory_bytes,
          [context = context_, memory_bytes](uint64_t bytes) {
            return CreateDeviceArena(context, bytes, memory_bytes);
          }};
}

absl::StatusOr<std::unique_ptr<SessionSeat>> CudaForm::OpenSeat(
    uint64_t scratch_bytes) const {
  CudaRankOptions options = options_.rank;
  options.budget = scratch_bytes;
  absl::StatusOr<std::unique_ptr<CudaRank>> rank = CudaRank::Open(options);
  if (!rank.ok()) return rank.status();
  return std::make_unique<CudaSeat>(*std::move(rank), nccl_, options_.timing);
}

}  // namespace evenpack::worker
