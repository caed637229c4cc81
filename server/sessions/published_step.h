// A decided step whose decision is committed: what subscribers may see.
#ifndef EVENPACK_SERVER_SESSIONS_PUBLISHED_STEP_H_
#define EVENPACK_SERVER_SESSIONS_PUBLISHED_STEP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/digest/digest.h"
#include "server/core/document/step.h"
#include "server/core/engine/job_spec.h"
#include "server/core/sharding/rank_load.h"
#include "server/core/sharding/shard_plan.h"
#include "server/payload/step_payload.h"
#include "server/runtime/clock.h"

namespace evenpack {

// Over all micro-batches of a step.
struct StepTotals {
  uint64_t tokens = 0;
  uint64_t padding = 0;
  uint64_t loss_tokens = 0;
  uint64_t sum_squared_lengths = 0;
  int64_t max_workload_ns = 0;
  int64_t total_workload_ns = 0;
};

// Constant once published, so any thread may read it.
struct PublishedStep {
  Step step;
  // Digest of the step before.
  Digest128 previous;
  // The spec that the step was decided under.
  std::shared_ptr<const JobSpec> spec;
  // By micro-batch; loads of each by CP rank.
  std::vector<ShardPlan> plans;
  std::vector<Digest128> plan_digests;
  std::vector<std::vector<RankLoad>> rank_loads;
  StepTotals totals;
  Clock::TimePoint decided;
  // Null where the job's payload travels by reference.
  std::shared_ptr<const StepPayload> tokens;
};

// `step` was decided under `spec`, `tokens` are its own. INTERNAL where a micro-batch
// can't be sharded, which the engine rules out.
absl::StatusOr<std::shared_ptr<const PublishedStep>> Publish(
    Step step, const Digest128& previous, std::shared_ptr<const JobSpec> spec,
    Clock::TimePoint decided, std::shared_ptr<const StepPayload> tokens = nullptr);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SESSIONS_PUBLISHED_STEP_H_
