#include "client/cli/simulation/simulation_setup.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/job_flags.h"
#include "client/cli/sharding_name.h"

namespace evenpack {

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

absl::StatusOr<JobSpec> MakeSimulatedJob(const SimulationSetup& setup,
                                         const SimulationMethod& method,
                                         const ClusterCosts& costs,
                                         double attention_scale) {
  const bool variable = IsVariableLength(method.policy);
  JobSpec spec;
  spec.streams = {{std::string(kStreamName)}};
  spec.micro_batches = setup.micro_batches;
  spec.context_parallel = setup.cluster.context_parallel;
  spec.window = setup.window;
  spec.max_length = variable ? setup.max_length : setup.window;
  spec.policy.kind = method.policy;
  spec.policy.split_documents = method.split_documents;
  spec.policy.window_batches = method.window_batches;
  spec.policy.balanced = method.balanced;
  if (variable) {
    if (method.policy == PolicyKind::kWlb) {
      spec.policy.queue_thresholds = setup.queue_thresholds;
    }
    spec.max_delay = setup.max_delay;
    spec.backlog_limit = setup.backlog_limit;
  }
  spec.sharding = method.sharding;
  if (IsChosenPerMicroBatch(method.sharding)) {
    spec.kernel_latency = costs.forward_attention();
  }
  spec.hybrid = costs.Hybrid(method.token_tolerance_ppm);
  const uint64_t whole_below = method.sharding == Sharding::kHybrid
                                   ? setup.window / setup.cluster.context_parallel
                                   : 0;
  absl::StatusOr<WorkloadTable> workload = costs.Workload(
      spec.max_length, setup.micro_batches, attention_scale, whole_below);
  if (!workload.ok()) return workload.status();
  spec.workload = *std::move(workload);
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  return spec;
}

}  // namespace evenpack
