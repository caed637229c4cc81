// Plain packing, fixed-length packing and `wlb` over the same documents.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_COMPARISON_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "client/cli/progress_bar.h"
#include "client/cli/simulation/simulated_run.h"
#include "client/cli/simulation/simulation_setup.h"

namespace evenpack {

// WLB-LLM's three rows (section 7.1), and what hybrid sharding makes of the last.
struct Comparison {
  // Plain-4D: `original`, per_sequence.
  SimulationFigures plain;
  // Fixed-4D: `fixed_greedy` over one global batch, with the better of per_sequence and
  // per_document, the same for all steps.
  SimulationFigures fixed;
  Sharding fixed_sharding = Sharding::kPerSequence;
  // `wlb` with outlier queues, adaptive.
  SimulationFigures wlb;
  // The same packing, hybrid sharding.
  SimulationFigures hybrid;
  // Another method, where one was asked for.
  std::optional<SimulationFigures> chosen;

  double FixedSpeedup() const { return plain.step_seconds / fixed.step_seconds; }
  double WlbSpeedup() const { return plain.step_seconds / wlb.step_seconds; }
  // Of the chosen method, which there is.
  double ChosenSpeedup() const { return plain.step_seconds / chosen->step_seconds; }
  // How much of what lies between wlb and its bound the chosen method saves; above 1
  // where it exchanges less than the bound counts.
  double GapClosed() const {
    return (wlb.step_seconds - chosen->step_seconds) /
           (wlb.step_seconds - wlb.bound_seconds);
  }
  double HybridSpeedup() const { return plain.step_seconds / hybrid.step_seconds; }
  // Of what wlb packed and adaptive sharding cut, spread perfectly evenly.
  double BoundSpeedup() const { return plain.step_seconds / wlb.bound_seconds; }
};

// `plain_splits`: plain packing cuts documents where a micro-batch is full. Costs are
// made from the setup; decisions and figures as Simulate's. INVALID_ARGUMENT: as
// ClusterCosts::Create or Simulate.
absl::StatusOr<Comparison> Compare(
    const SimulationSetup& setup, bool plain_splits, const SimulationFeed& feed,
    ProgressBar& progress,
    const std::optional<SimulationMethod>& chosen = std::nullopt);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_COMPARISON_H_
