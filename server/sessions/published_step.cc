#include "server/sessions/published_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/engine/plan_micro_batch.h"
#include "server/core/sharding/plan_digest.h"

namespace evenpack {
namespace {

void AddTo(StepTotals& totals, const MicroBatch& micro_batch) {
  totals.tokens += micro_batch.tokens;
  totals.padding += micro_batch.padding;
  totals.loss_tokens += LossTokens(micro_batch);
  totals.sum_squared_lengths += SumOfSquaredLengths(micro_batch);
  totals.max_workload_ns = std::max(totals.max_workload_ns, micro_batch.workload_ns);
  totals.total_workload_ns += micro_batch.workload_ns;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PublishedStep>> Publish(
    Step step, const Digest128& previous, std::shared_ptr<const JobSpec> spec,
    Clock::TimePoint decided, std::shared_ptr<const StepPayload> tokens) {
  auto published = std::make_shared<PublishedStep>();
  published->plans.reserve(step.micro_batches.size());
  published->plan_digests.reserve(step.micro_batches.size());
  published->rank_loads.reserve(step.micro_batches.size());
  RankSlices slices;
  for (const MicroBatch& micro_batch : step.micro_batches) {
    absl::StatusOr<ShardPlan> plan = PlanMicroBatch(*spec, micro_batch);
    if (!plan.ok()) {
      return absl::InternalError(absl::StrCat(
          "step ", step.index, " can't be sharded: ", plan.status().message()));
    }
    AddTo(published->totals, micro_batch);
    published->plan_digests.push_back(PlanDigest(*plan));
    published->rank_loads.push_back(RankLoads(*plan, slices));
    published->plans.push_back(*std::move(plan));
  }
  published->step = std::move(step);
  published->previous = previous;
  published->spec = std::move(spec);
  published->decided = decided;
  published->tokens = std::move(tokens);
  return published;
}

}  // namespace evenpack
