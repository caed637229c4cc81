#include "client/cli/simulation/simulation_setup.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/job_flags.h"
#include "client/cli/sharding_name.h"

namespace evenpack {
namespace {

BalancedSpec BalancedOf(const SimulationSetup& setup, const SimulationMethod& method) {
  BalancedSpec balanced = method.balanced;
  balanced.virtual_stages = setup.cluster.virtual_stages;
  balanced.sync_domain = setup.cluster.sync_domain;
  balanced.place =
      method.placing == MicroBatchPlacing::kLeast && balanced.max_in_flight_tokens > 0;
  return balanced;
}

}  // namespace

void SetWindow(uint32_t window, SimulationSetup& setup) {
  WindowDefaults defaults = VariableLengthDefaults(window);
  setup.window = window;
  setup.max_length = defaults.max_length;
  setup.queue_thresholds = std::move(defaults.queue_thresholds);
}

std::string MethodName(const SimulationMethod& method) {
  return absl::StrCat(std::string(PolicyName(method.policy)), ", ",
                      std::string(ShardingName(method.sharding)));
}

MicroBatchPlacing PlacingOf(const SimulationMethod& method) {
  return method.policy == PolicyKind::kBalanced && method.balanced.place
             ? MicroBatchPlacing::kLeast
             : MicroBatchPlacing::kGiven;
}

SimulationMethod PlainMethod() {
  SimulationMethod plain;
  plain.policy = PolicyKind::kOriginal;
  plain.sharding = Sharding::kPerSequence;
  return plain;
}

SimulationMethod WlbMethod() { return {}; }

SimulationMethod BalancedMethod() {
  SimulationMethod balanced;
  balanced.policy = PolicyKind::kBalanced;
  balanced.sharding = Sharding::kHybrid;
  balanced.placing = PlacingOf(balanced);
  return balanced;
}

HybridRule HybridRuleOf(const SimulationSetup& setup, const SimulationMethod& method,
                        const ClusterCosts& costs) {
  HybridRule rule = setup.hybrid.value_or(costs.Hybrid(method.token_tolerance_ppm));
  rule.token_tolerance_ppm = method.token_tolerance_ppm;
  return rule;
}

absl::StatusOr<JobSpec> MakeSimulatedJob(const SimulationSetup& setup,
                                         const SimulationMethod& method,
                                         const ClusterCosts& costs,
                                         double attention_scale) {
  const bool variable = IsVariableLength(method.policy);
  JobSpec spec;
  spec.streams = {{std::string(kStreamName)}};
  spec.micro_batches = setup.micro_batches;
  spec.context_parallel = setup.cluster.context_parallel;
  spec.pipeline_parallel = setup.cluster.pipeline_parallel;
  spec.data_parallel = setup.cluster.data_parallel;
  spec.virtual_pipeline_group = setup.virtual_pipeline_group;
  spec.window = setup.window;
  spec.max_length = variable ? setup.max_length : setup.window;
  spec.policy.kind = method.policy;
  spec.policy.split_documents = method.split_documents;
  spec.policy.window_batches = method.window_batches;
  spec.policy.balanced = BalancedOf(setup, method);
  if (variable) {
    if (method.policy == PolicyKind::kWlb) {
      spec.policy.queue_thresholds = setup.queue_thresholds;
    }
    spec.backlog_limit = setup.backlog_limit;
  }
  spec.max_delay = setup.max_delay;
  spec.sharding = method.sharding;
  // The one layout that is cut so.
  if (spec.sharding == Sharding::kContiguous) spec.layout.kind = Layout::kRingLlama3;
  if (IsChosenPerMicroBatch(method.sharding)) {
    spec.kernel_latency = costs.forward_attention();
  }
  spec.hybrid = HybridRuleOf(setup, method, costs);
  const uint64_t whole_below = method.sharding == Sharding::kHybrid
                                   ? setup.window / setup.cluster.context_parallel
                                   : 0;
  absl::StatusOr<WorkloadTable> workload = costs.Workload(
      spec.max_length, setup.micro_batches, attention_scale, whole_below);
  if (!workload.ok()) return workload.status();
  spec.workload = *std::move(workload);
  absl::Status status = Validate(spec);
  if (status.ok()) status = CheckGiven(spec);
  if (!status.ok()) return status;
  return spec;
}

}  // namespace evenpack
