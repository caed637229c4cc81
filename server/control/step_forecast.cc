#include "server/control/step_forecast.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/status/statusor.h"

namespace evenpack {
namespace {

ClusterSpec ClusterOf(const JobSpec& spec, double peak_flops) {
  ClusterSpec cluster;
  cluster.tensor_parallel = spec.tensor_parallel;
  cluster.context_parallel = spec.context_parallel;
  cluster.pipeline_parallel = spec.pipeline_parallel;
  cluster.data_parallel = spec.data_parallel;
  cluster.expert_parallel = spec.expert_parallel;
  cluster.virtual_stages = spec.policy.balanced.virtual_stages;
  cluster.sync_domain = spec.policy.balanced.sync_domain;
  cluster.peak_flops = peak_flops;
  return cluster;
}

// At most as much as a part of a pass may take (PassCost).
int64_t Scaled(int64_t ns, int64_t ppm) {
  constexpr double kOne = CostScales::kOne;
  constexpr double kMost = static_cast<double>(kMaxPassNs) / 4;
  const double scaled = static_cast<double>(ns) * static_cast<double>(ppm) / kOne;
  return std::llround(std::min(scaled, kMost));
}

void Scale(const CostScales& scales, PassCost& cost) {
  cost.attention_ns = Scaled(cost.attention_ns, scales.attention_ppm);
  cost.mean_attention_ns = Scaled(cost.mean_attention_ns, scales.attention_ppm);
  cost.linear_ns = Scaled(cost.linear_ns, scales.linear_ppm);
  cost.head_ns = Scaled(cost.head_ns, scales.linear_ppm);
}

bool IsItsTurn(const PublishedStep& step) {
  const JobSpec& spec = *step.spec;
  // Both passes of all stages, and of four evenings-out.
  uint64_t operations = uint64_t{8} * spec.micro_batches * spec.pipeline_parallel *
                        spec.policy.balanced.virtual_stages;
  for (const std::vector<RankLoad>& ranks : step.rank_loads) {
    for (const RankLoad& load : ranks) operations += 2 * load.slices;
  }
  return step.step.index % (operations / StepForecast::kMostOperations + 1) == 0;
}

}  // namespace

void StepForecast::Read(const std::shared_ptr<const JobSpec>& spec) {
  spec_ = spec;
  costs_.reset();
  if (!terms_of_) return;
  const std::optional<ForecastTerms> terms = terms_of_(*spec);
  if (!terms.has_value()) return;
  const ClusterSpec cluster = ClusterOf(*spec, terms->peak_flops);
  if (!ValidateStepShape(cluster, spec->micro_batches, spec->virtual_pipeline_group)
           .ok()) {
    return;
  }
  scales_ = terms->scales;
  absl::StatusOr<ClusterCosts> costs =
      ClusterCosts::Create(terms->model, cluster, spec->kernel_latency);
  if (costs.ok()) costs_ = *std::move(costs);
}

bool StepForecast::CanPredict(const std::shared_ptr<const JobSpec>& spec) {
  if (spec != spec_) Read(spec);
  return costs_.has_value();
}

std::optional<StepPrediction> StepForecast::Predict(const PublishedStep& step) {
  if (!CanPredict(step.spec) || !IsItsTurn(step)) return std::nullopt;
  std::vector<MicroBatchCost> costs;
  costs.reserve(step.plans.size());
  for (const ShardPlan& plan : step.plans) {
    MicroBatchCost& cost = costs.emplace_back(costs_->CostOf(plan));
    Scale(scales_, cost.forward);
    Scale(scales_, cost.backward);
  }
  return PredictStep(*costs_, costs, step.spec->virtual_pipeline_group);
}

}  // namespace evenpack
