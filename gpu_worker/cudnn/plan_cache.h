// Plans that were built, by their shapes.
#ifndef EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_
#define EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/cudnn/attention_plan.h"

namespace evenpack::worker {

// Not thread-safe.
class PlanCache {
 public:
  explicit PlanCache(std::unique_ptr<AttentionPlanner> planner)
      : planner_(std::move(planner)) {}

  // The one for the shape, which is built where it isn't there. Lives as long as the
  // cache. Errors of AttentionPlanner::Build.
  absl::StatusOr<AttentionPlan*> For(const PlanShape& shape);
  // As AttentionPlanner::CheckShape.
  absl::Status CheckShape(const AttentionShape& shape) const {
    return planner_->CheckShape(shape);
  }

  // How many were built.
  size_t size() const { return plans_.size(); }

 private:
  const std::unique_ptr<AttentionPlanner> planner_;
  absl::flat_hash_map<PlanShape, std::unique_ptr<AttentionPlan>> plans_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_
