#include "server/core/engine/plan_micro_batch.h"

#include <cstdint>
#include <vector>

#include "server/core/engine/job_layout.h"
#include "server/core/sharding/pad_end.h"
#include "server/core/sharding/plan_sharding.h"

namespace evenpack {
namespace {

// pad_to of the plan; 0 is padding-free.
uint32_t PadTo(const JobSpec& spec, Sharding sharding) {
  const ParallelUnits units = ParallelUnitsOf(spec);
  if (sharding == Sharding::kPerDocument) {
    return units.document == 1 ? 0 : units.document;
  }
  // A lone rank holds the sequence whole, whatever lies behind it.
  return spec.context_parallel == 1 || units.total == 1 ? 0 : units.total;
}

}  // namespace

absl::StatusOr<ShardPlan> PlanMicroBatch(const JobSpec& spec,
                                         const MicroBatch& micro_batch) {
  const std::vector<uint32_t> lengths = LengthsOf(micro_batch.documents);
  absl::StatusOr<ShardPlan> plan =
      PlanSharding(micro_batch.sharding, lengths, spec.context_parallel,
                   PadTo(spec, micro_batch.sharding), spec.kernel_latency, spec.hybrid);
  if (!plan.ok()) return plan;
  if (absl::Status status = PadEnd(micro_batch.tokens + micro_batch.padding, *plan);
      !status.ok()) {
    return status;
  }
  return plan;
}

}  // namespace evenpack
