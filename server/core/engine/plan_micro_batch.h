// The shard plan that belongs to a packed micro-batch.
#ifndef EVENPACK_SERVER_CORE_ENGINE_PLAN_MICRO_BATCH_H_
#define EVENPACK_SERVER_CORE_ENGINE_PLAN_MICRO_BATCH_H_

#include "absl/status/statusor.h"
#include "server/core/document/micro_batch.h"
#include "server/core/engine/job_spec.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {

// `spec` is the one under which the step was decided, and `micro_batch` one of the
// step's; then this can't fail. The plan has the micro-batch's sharding, and
// padded_tokens is its tokens and padding together (docs/adr/0011 says where the
// padding lies). INVALID_ARGUMENT for a micro-batch that no such job has packed.
absl::StatusOr<ShardPlan> PlanMicroBatch(const JobSpec& spec,
                                         const MicroBatch& micro_batch);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_PLAN_MICRO_BATCH_H_
