// What a simulation is of: a model on a cluster, and how its documents are packed and
// sharded.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_SETUP_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_SETUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/cost/kernel_latency_table.h"
#include "server/core/cost/model_spec.h"
#include "server/core/document/micro_batch.h"
#include "server/core/engine/job_spec.h"
#include "server/core/pipeline/cluster_spec.h"
#include "server/core/pipeline/micro_batch_cost.h"

namespace evenpack {

struct SimulationSetup {
  std::string name;
  ModelSpec model;
  ClusterSpec cluster;
  // N, and those of a DP rank that an interleaved schedule takes together.
  uint32_t micro_batches = 1;
  uint32_t virtual_pipeline_group = 1;
  // L, and S_max of policies that pack variable lengths; the others keep to L.
  uint32_t window = 1;
  uint32_t max_length = 1;
  std::vector<uint32_t> queue_thresholds;
  std::optional<uint64_t> max_delay;
  double backlog_limit = 4;
  // Measured forward attention; empty: the tile model.
  KernelLatencyTable attention;
  // What hybrid sharding weighs, but for the tolerance, which is the method's; none:
  // what the costs come to (ClusterCosts::Hybrid).
  std::optional<HybridRule> hybrid;
};

// L, and what `wlb` does with it unless told otherwise (VariableLengthDefaults).
void SetWindow(uint32_t window, SimulationSetup& setup);

// Which micro-batch of a step goes to which data-parallel rank, and when.
enum class MicroBatchPlacing : uint8_t {
  kGiven,  // as the policy numbers them
  kLeast,  // so that the predicted step is shortest (placement.h)
};
inline constexpr std::array<std::string_view, 2> kPlacingNames = {"given", "least"};
inline std::string_view PlacingName(MicroBatchPlacing placing) {
  return kPlacingNames[static_cast<size_t>(placing)];
}

// How documents become micro-batches, and these ranks' slices.
struct SimulationMethod {
  PolicyKind policy = PolicyKind::kWlb;
  // kOriginal, kFixedGreedy: as in PolicySpec.
  bool split_documents = false;
  uint32_t window_batches = 1;
  Sharding sharding = Sharding::kAdaptive;
  MicroBatchPlacing placing = MicroBatchPlacing::kGiven;
  // Of kBalanced.
  BalancedSpec balanced = {};
  // Of hybrid sharding.
  uint32_t token_tolerance_ppm = HybridRule().token_tolerance_ppm;
};

// What a server does with a job of this policy, and these options, by itself.
MicroBatchPlacing PlacingOf(const SimulationMethod& method);

// "wlb, adaptive".
std::string MethodName(const SimulationMethod& method);

// WLB-LLM's Plain-4D: documents as they come, per_sequence.
SimulationMethod PlainMethod();
// `wlb` with outlier queues, adaptive.
SimulationMethod WlbMethod();
// `balanced`, hybrid, placed.
SimulationMethod BalancedMethod();

// What the method's hybrid sharding decides by.
HybridRule HybridRuleOf(const SimulationSetup& setup, const SimulationMethod& method,
                        const ClusterCosts& costs);

// The job that packs the setup's documents by the method, deciding from a cost model
// whose attention is `attention_scale` times that of `costs`. Its order of
// micro-batches is the policy's own, but for a job of placing kLeast with a bound on
// tokens in flight: there it is the server's, which keeps to the bound.
// INVALID_ARGUMENT: as Validate(JobSpec) or CheckGiven, or where the workload can't be
// resolved.
absl::StatusOr<JobSpec> MakeSimulatedJob(const SimulationSetup& setup,
                                         const SimulationMethod& method,
                                         const ClusterCosts& costs,
                                         double attention_scale);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_SIMULATION_SETUP_H_
