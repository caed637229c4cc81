#include <utility>

#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/rank_form/rank_form.h"
#include "server/runtime/thread_check.h"

namespace evenpack::worker {
namespace {

class ProcessorForm final : public RankForm {
 public:
  ProcessorForm(size_t threads, GlooOptions group)
      : engine_(threads), group_(std::move(group)) {}

  AttentionEngine& engine() override { return engine_; }
  Device& device() override { return Device::Host(); }
  const CudaWorkplace* workplace() const override { return nullptr; }
  size_t least_group_bytes() const override { return 0; }
  absl::StatusOr<OpenEndpointOf> Endpoints() const override {
    return GlooEndpoints(group_);
  }

  absl::Status After(cuda::Stream /*stream*/) const override {
    return absl::OkStatus();
  }
  absl::Status Before(cuda::Stream /*stream*/) const override {
    return absl::OkStatus();
  }

 private:
  CpuAttention engine_;
  const GlooOptions group_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RankForm>> OnProcessor(size_t threads,
                                                      const GlooOptions& group) {
  if (absl::Status status = CheckThreads(threads); !status.ok()) return status;
  return std::make_unique<ProcessorForm>(threads, group);
}

}  // namespace evenpack::worker
