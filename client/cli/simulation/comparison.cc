#include "client/cli/simulation/comparison.h"

#include <utility>

#include "server/core/pipeline/micro_batch_cost.h"

namespace evenpack {

absl::StatusOr<Comparison> Compare(const SimulationSetup& setup, bool plain_splits,
                                   const SimulationFeed& feed, ProgressBar& progress,
                                   const std::optional<SimulationMethod>& chosen) {
  const absl::StatusOr<ClusterCosts> costs =
      ClusterCosts::Create(setup.model, setup.cluster, setup.attention);
  if (!costs.ok()) return costs.status();
  const auto run = [&](const SimulationMethod& method, SimulationFigures& figures) {
    auto simulated = Simulate(setup, method, *costs, 1, feed, progress);
    if (!simulated.ok()) return simulated.status();
    figures = *std::move(simulated);
    return absl::OkStatus();
  };
  SimulationMethod plain = PlainMethod();
  plain.split_documents = plain_splits;
  SimulationMethod fixed = PlainMethod();
  fixed.policy = PolicyKind::kFixedGreedy;
  Comparison comparison;
  SimulationFigures per_document;
  absl::Status status = run(plain, comparison.plain);
  if (status.ok()) status = run(fixed, comparison.fixed);
  fixed.sharding = Sharding::kPerDocument;
  if (status.ok()) status = run(fixed, per_document);
  if (status.ok()) status = run(WlbMethod(), comparison.wlb);
  SimulationMethod hybrid = WlbMethod();
  hybrid.sharding = Sharding::kHybrid;
  if (status.ok()) status = run(hybrid, comparison.hybrid);
  if (status.ok() && chosen.has_value()) {
    status = run(*chosen, comparison.chosen.emplace());
  }
  if (!status.ok()) return status;
  if (per_document.step_seconds < comparison.fixed.step_seconds) {
    comparison.fixed = std::move(per_document);
    comparison.fixed_sharding = Sharding::kPerDocument;
  }
  return comparison;
}

}  // namespace evenpack
