#include "gpu_worker/cudnn/plan_cache.h"

#include <utility>

namespace evenpack::worker {

absl::StatusOr<AttentionPlan*> PlanCache::For(const PlanShape& shape) {
  const auto found = plans_.find(shape);
  if (found != plans_.end()) return found->second.get();
  absl::StatusOr<std::unique_ptr<AttentionPlan>> plan = planner_->Build(shape);
  if (!plan.ok()) return plan.status();
  return plans_.emplace(shape, *std::move(plan)).first->second.get();
}

absl::Status PlanCache::CheckShape(const AttentionShape& shape) const {
  for (const auto& [checked, found] : checked_) {
    if (checked == shape) return found;
  }
  absl::Status found = planner_->CheckShape(shape);
  if (found.ok() || absl::IsInvalidArgument(found)) {
    checked_.emplace_back(shape, found);
  }
  return found;
}

}  // namespace evenpack::worker
