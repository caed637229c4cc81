#include "client/cli/simulation/simulated_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/document_stream.h"
#include "client/cli/pack_run.h"
#include "client/cli/simulation/plan_size.h"
#include "server/core/document/step.h"
#include "server/core/engine/event.h"
#include "server/core/engine/place_micro_batches.h"
#include "server/core/engine/plan_micro_batch.h"
#include "server/core/pipeline/network.h"
#include "server/core/pipeline/placement.h"
#include "server/core/pipeline/step_prediction.h"

namespace evenpack {
namespace {

// So many tell how much a plan weighs.
constexpr uint64_t kWeighedSteps = 8;

class StepTimes {
 public:
  StepTimes(const SimulationSetup& setup, MicroBatchPlacing placing,
            const ClusterCosts& costs, JobSpec spec)
      : setup_(setup),
        costs_(costs),
        spec_(std::move(spec)),
        placer_(ShapeOf(setup), setup.cluster.data_parallel, setup.cluster.sync_domain),
        placing_(placing) {}

  absl::Status Add(const Step& step) {
    if (step.kind == StepKind::kDrain) return absl::OkStatus();
    if (sums_.steps < kWeighedSteps) {
      const absl::StatusOr<uint64_t> bytes = PlanBytes(step, spec_);
      if (!bytes.ok()) return bytes.status();
      sums_.plan_bytes = std::max(sums_.plan_bytes, *bytes);
    }
    std::vector<MicroBatchCost> micro_batches;
    for (const MicroBatch& micro_batch : step.micro_batches) {
      const absl::StatusOr<ShardPlan> plan = PlanMicroBatch(spec_, micro_batch);
      if (!plan.ok()) return plan.status();
      per_document_ += micro_batch.sharding == Sharding::kPerDocument ? 1 : 0;
      tokens_ += static_cast<double>(micro_batch.tokens);
      micro_batches.push_back(costs_.CostOf(*plan));
    }
    if (placing_ == MicroBatchPlacing::kLeast) Place(micro_batches);
    Add(PredictStep(costs_, micro_batches, setup_.virtual_pipeline_group));
    return absl::OkStatus();
  }

  absl::StatusOr<SimulationFigures> Figures() const {
    if (sums_.steps == 0) {
      return TooFewDocuments();
    }
    const double batch_tokens =
        static_cast<double>(setup_.micro_batches) * setup_.window;
    const double scale = batch_tokens / tokens_ / kNsPerSecond;
    const auto steps = static_cast<double>(sums_.steps);
    SimulationFigures figures = sums_;
    figures.bubble /= figures.step_seconds;
    for (double* seconds :
         {&figures.step_seconds, &figures.bound_seconds, &figures.packing_seconds,
          &figures.cp_sharding_seconds, &figures.pipeline_seconds,
          &figures.communication_seconds, &figures.exposed_communication_seconds}) {
      *seconds *= scale;
    }
    figures.pp_imbalance /= steps;
    figures.cp_imbalance /= steps;
    figures.gpu_imbalance /= steps;
    figures.gpu_attention_imbalance /= steps;
    figures.per_document_share = per_document_ / (steps * setup_.micro_batches);
    return figures;
  }

 private:
  // Less than the first decision waits for.
  absl::Status TooFewDocuments() const {
    const uint64_t batches = spec_.policy.window_batches;
    return absl::FailedPreconditionError(absl::StrCat(
        "the documents of at most ", setup_.window, " tokens do not come to ",
        batches * setup_.micro_batches * setup_.window, " tokens, ",
        batches == 1 ? "one step" : absl::StrCat("one window of ", batches, " steps")));
  }

  static PipelineShape ShapeOf(const SimulationSetup& setup) {
    const ClusterSpec& cluster = setup.cluster;
    return {cluster.pipeline_parallel, cluster.virtual_stages,
            setup.micro_batches / cluster.data_parallel, setup.virtual_pipeline_group};
  }

  void Place(std::vector<MicroBatchCost>& micro_batches) {
    std::vector<PassTime> times;
    times.reserve(micro_batches.size());
    for (const MicroBatchCost& cost : micro_batches) {
      times.push_back(PassTimeOf(costs_, cost));
    }
    const std::vector<uint32_t> order =
        placer_.Place(times, PlacementBudget(times.size())).order;
    if (!KeepsToBound(micro_batches, order)) return;
    std::vector<MicroBatchCost> placed;
    placed.reserve(order.size());
    for (const uint32_t i : order) placed.push_back(std::move(micro_batches[i]));
    micro_batches = std::move(placed);
  }

  bool KeepsToBound(const std::vector<MicroBatchCost>& micro_batches,
                    const std::vector<uint32_t>& order) const {
    const uint64_t most = spec_.policy.kind == PolicyKind::kBalanced
                              ? spec_.policy.balanced.max_in_flight_tokens
                              : 0;
    if (most == 0) return true;
    std::vector<MicroBatch> placed(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      placed[i].tokens = micro_batches[order[i]].tokens;
    }
    return InFlightTokens(spec_, placed) <= most;
  }

  // Times in nanoseconds, bubbles too, until Figures divides.
  void Add(const StepPrediction& step) {
    const auto step_ns = static_cast<double>(step.step_ns);
    sums_.step_seconds += step_ns;
    sums_.bound_seconds += static_cast<double>(step.bound_ns);
    sums_.packing_seconds += static_cast<double>(step.packing_ns);
    sums_.cp_sharding_seconds += static_cast<double>(step.cp_sharding_ns);
    sums_.pipeline_seconds += static_cast<double>(step.pipeline_ns);
    sums_.communication_seconds += static_cast<double>(step.communication_ns);
    sums_.exposed_communication_seconds +=
        static_cast<double>(step.exposed_communication_ns);
    sums_.bubble += step.bubble * step_ns;
    sums_.pp_imbalance += step.pp_imbalance;
    sums_.cp_imbalance += step.cp_imbalance;
    sums_.gpu_imbalance += step.gpu_imbalance;
    sums_.gpu_attention_imbalance += step.gpu_attention_imbalance;
    sums_.longest_micro_batch =
        std::max(sums_.longest_micro_batch, step.longest_micro_batch);
    sums_.in_flight_tokens = std::max(sums_.in_flight_tokens, step.in_flight_tokens);
    ++sums_.steps;
  }

  const SimulationSetup& setup_;
  const ClusterCosts& costs_;
  JobSpec spec_;
  Placer placer_;
  const MicroBatchPlacing placing_;
  SimulationFigures sums_;
  double tokens_ = 0;
  double per_document_ = 0;
};

}  // namespace

absl::StatusOr<SimulationFigures> Simulate(const SimulationSetup& setup,
                                           const SimulationMethod& method,
                                           const ClusterCosts& costs,
                                           double attention_scale,
                                           const SimulationFeed& feed,
                                           ProgressBar& progress) {
  const absl::StatusOr<JobSpec> spec =
      MakeSimulatedJob(setup, method, costs, attention_scale);
  if (!spec.ok()) return spec.status();
  StepTimes times(setup, method.placing, costs, *spec);
  DocumentStream stream(feed.lengths, feed.passes, feed.seed);
  StepHooks hooks;
  hooks.observe = [&times](const StepDecided& decided) {
    return times.Add(decided.step);
  };
  absl::StatusOr<PackFigures> packing =
      RunPack(*spec, stream, feed.steps, progress, hooks);
  if (!packing.ok()) return packing.status();
  absl::StatusOr<SimulationFigures> figures = times.Figures();
  if (figures.ok()) figures->packing = *std::move(packing);
  return figures;
}

}  // namespace evenpack
