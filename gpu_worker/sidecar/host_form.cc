#include "gpu_worker/sidecar/host_form.h"

#include "gpu_worker/attention/cpu_attention.h"

namespace evenpack::worker {
namespace {

class HostSeat final : public SessionSeat {
 public:
  explicit HostSeat(const HostFormOptions& options)
      : group_(options.group), engine_(options.threads) {}

  AttentionEngine& engine() override { return engine_; }
  Device& device() override { return Device::Host(); }
  OpenEndpointOf endpoints() const override { return GlooEndpoints(group_); }
  std::unique_ptr<Completions> CompletionsOf(SubmissionReader& reader) override {
    return std::make_unique<HostCompletions>(reader);
  }

 private:
  const GlooOptions group_;
  CpuAttention engine_;
};

}  // namespace

ArenaMaker HostForm::ArenasOf(uint64_t memory_bytes) const {
  return {.max_bytes = memory_bytes};
}

absl::StatusOr<std::unique_ptr<SessionSeat>> HostForm::OpenSeat(uint64_t) const {
  return std::make_unique<HostSeat>(options_);
}

}  // namespace evenpack::worker
