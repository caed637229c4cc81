// Plans that were built, and what was found out of shapes.
#ifndef EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_
#define EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

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
  // As AttentionPlanner::CheckShape, which is asked once for what depends on the shape;
  // after an error that says nothing of it, again the next time.
  absl::Status CheckShape(const AttentionShape& shape) const;

  // How many were built.
  size_t size() const { return plans_.size(); }

 private:
  const std::unique_ptr<AttentionPlanner> planner_;
  absl::flat_hash_map<PlanShape, std::unique_ptr<AttentionPlan>> plans_;
  // Some two of them: all heads, and a group of heads.
  mutable std::vector<std::pair<AttentionShape, absl::Status>> checked_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDNN_PLAN_CACHE_H_
