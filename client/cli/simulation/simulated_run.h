// One method over a stream of documents: every step packed by the engine, and its time
// predicted.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATED_RUN_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATED_RUN_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "client/cli/pack_figures.h"
#include "client/cli/progress_bar.h"
#include "client/cli/simulation/simulation_setup.h"

namespace evenpack {

// Seconds are those of N x L tokens: the time of all steps but the last ones, which
// drain the job, over their tokens. So methods whose steps have unequal tokens compare.
struct SimulationFigures {
  double step_seconds = 0;
  // The perfect-balance bound, and what lies between it and step_seconds.
  double bound_seconds = 0;
  double packing_seconds = 0;
  double cp_sharding_seconds = 0;
  double pipeline_seconds = 0;
  double communication_seconds = 0;
  double exposed_communication_seconds = 0;
  // Share of the time.
  double bubble = 0;
  // Means over steps.
  double pp_imbalance = 0;
  double cp_imbalance = 0;
  double gpu_imbalance = 0;
  double gpu_attention_imbalance = 0;
  // Over all these steps.
  uint64_t longest_micro_batch = 0;
  uint64_t in_flight_tokens = 0;
  // Steps counted above.
  uint64_t steps = 0;
  // Micro-batches that were sharded per_document.
  double per_document_share = 0;
  // Most bytes of one rank's plan on the wire (plan_size.h), over the first few steps.
  uint64_t plan_bytes = 0;
  // Of the packing, all steps.
  PackFigures packing;
};

struct SimulationFeed {
  std::span<const uint32_t> lengths;
  uint64_t passes = 1;
  uint64_t seed = 0;
  // Full steps after which no more documents are taken.
  std::optional<uint64_t> steps;
};

// `costs` is that of the setup. INVALID_ARGUMENT: as MakeSimulatedJob.
// FAILED_PRECONDITION: too few documents for one step. INTERNAL: as RunPack.
absl::StatusOr<SimulationFigures> Simulate(const SimulationSetup& setup,
                                           const SimulationMethod& method,
                                           const ClusterCosts& costs,
                                           double attention_scale,
                                           const SimulationFeed& feed,
                                           ProgressBar& progress);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATED_RUN_H_
