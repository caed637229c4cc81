#include "client/cli/simulation/simulation_config.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/job_flags.h"
#include "client/cli/online/message_file.h"
#include "client/cli/quoted_value.h"
#include "client/cli/simulation/paper_configs.h"
#include "evenpack/v1/simulation.pb.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/invalid_field.h"
#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/step_prediction.h"
#include "server/service/cost_conversion.h"
#include "server/service/field_path.h"
#include "server/service/spec_conversion.h"

namespace evenpack {
namespace {

// What a simulation's job has where CreateJob would have something else.
v1::JobSpec WithDefaults(v1::JobSpec job, uint32_t virtual_stages) {
  if (job.streams().empty()) {
    job.add_streams()->set_name(std::string(kStreamName));
  }
  v1::Parallelism& parallelism = *job.mutable_parallelism();
  if (virtual_stages > 1 && parallelism.virtual_pipeline_group() <= 1) {
    parallelism.set_virtual_pipeline_group(
        LeastPipelineGroup(std::max(parallelism.pipeline(), 1U),
                           std::max(parallelism.micro_batches_per_rank(), 1U)));
  }
  if (!job.policy().has_wlb()) return job;
  const WindowDefaults defaults = VariableLengthDefaults(job.window());
  if (job.max_length() == 0) job.set_max_length(defaults.max_length);
  v1::WlbPolicy& wlb = *job.mutable_policy()->mutable_wlb();
  if (wlb.queue_thresholds().empty()) {
    wlb.mutable_queue_thresholds()->Assign(defaults.queue_thresholds.begin(),
                                           defaults.queue_thresholds.end());
  }
  return job;
}

absl::StatusOr<ModelSpec> ModelOf(const v1::SimulationConfig& config) {
  const auto read = [](absl::string_view field, const v1::Model& model) {
    return InField(field, ReadModel(model));
  };
  const v1::Cost& cost = config.job().cost();
  if (config.has_model()) return read("model", config.model());
  if (cost.has_analytic()) {
    return read("job.cost.analytic.model", cost.analytic().model());
  }
  if (cost.has_profiled()) {
    return read("job.cost.profiled.linear.model", cost.profiled().linear().model());
  }
  return InvalidField("model", "nothing",
                      absl::StrCat("one of ", absl::StrJoin(ModelNames(), ", "),
                                   ", or a shape; here or in job.cost"));
}

absl::StatusOr<SyncDomain> ReadSyncDomain(v1::SyncDomain domain) {
  switch (domain) {
    case v1::SYNC_DOMAIN_UNSPECIFIED:
    case v1::SYNC_DOMAIN_STEP:
      return SyncDomain::kStep;
    case v1::SYNC_DOMAIN_MICRO_BATCH:
      return SyncDomain::kMicroBatch;
    default:
      return InvalidField("sync_domain", static_cast<int>(domain),
                          "SYNC_DOMAIN_STEP, SYNC_DOMAIN_MICRO_BATCH");
  }
}

// The machines; parallelism is the job's.
void ReadCluster(const v1::Cluster& from, ClusterSpec& to) {
  const auto given = [](auto value, auto& field) {
    if (value != 0) field = value;
  };
  given(from.gpus_per_node(), to.network.gpus_per_node);
  given(from.inter_node_bytes_per_second(), to.network.inter_node_bytes_per_second);
  given(from.peak_flops_per_second(), to.peak_flops);
  given(from.matmul_fraction(), to.matmul_fraction);
  given(from.memory_bytes_per_second(), to.memory_bytes_per_second);
  to.overlap_tensor_collectives = !from.exposes_tensor_collectives();
  to.context_overlap = from.context_overlap();
  to.recompute = from.recomputes();
}

void ReadJob(const JobSpec& spec, SimulationInput& input) {
  SimulationSetup& setup = input.setup;
  ClusterSpec& cluster = setup.cluster;
  cluster.tensor_parallel = spec.tensor_parallel;
  cluster.context_parallel = spec.context_parallel;
  cluster.pipeline_parallel = spec.pipeline_parallel;
  cluster.data_parallel = spec.data_parallel;
  cluster.expert_parallel = spec.expert_parallel;
  setup.micro_batches = spec.micro_batches;
  setup.virtual_pipeline_group = spec.virtual_pipeline_group;
  // What other methods than the job's own have, where that has none.
  SetWindow(spec.window, setup);
  if (IsVariableLength(spec.policy.kind)) setup.max_length = spec.max_length;
  if (spec.policy.kind == PolicyKind::kWlb) {
    setup.queue_thresholds = spec.policy.queue_thresholds;
  }
  setup.max_delay = spec.max_delay;
  setup.backlog_limit = spec.backlog_limit;
  SimulationMethod& method = input.method;
  method.policy = spec.policy.kind;
  method.split_documents = spec.policy.split_documents;
  method.window_batches = spec.policy.window_batches;
  method.sharding = spec.sharding;
  method.balanced = spec.policy.balanced;
  method.placing = PlacingOf(method);
  method.token_tolerance_ppm = spec.hybrid.token_tolerance_ppm;
}

// "spec.window" as "job.window".
absl::Status InJobNames(const absl::Status& status) {
  absl::string_view message = status.message();
  if (!absl::ConsumePrefix(&message, "spec.")) return status;
  return {status.code(), absl::StrCat("job.", message)};
}

// What the prediction calls a field, as the file does.
absl::Status InFileNames(const absl::Status& status) {
  const std::string field = RefusedField(status);
  const bool of_job = absl::EndsWith(field, "_parallel") || field == "micro_batches" ||
                      field == "virtual_pipeline_group";
  if (of_job) return InJobNames(InSpecNames(status));
  const bool of_file = field == "virtual_stages" || absl::StartsWith(field, "model.");
  return of_file ? status : Under("cluster", status);
}

}  // namespace

absl::StatusOr<SimulationInput> FromProto(const v1::SimulationConfig& config) {
  const absl::StatusOr<JobSpec> spec =
      FromProto(WithDefaults(config.job(), config.virtual_stages()));
  if (!spec.ok()) return InJobNames(spec.status());
  absl::StatusOr<ModelSpec> model = ModelOf(config);
  if (!model.ok()) return model.status();
  const absl::StatusOr<SyncDomain> sync_domain = ReadSyncDomain(config.sync_domain());
  if (!sync_domain.ok()) return sync_domain.status();
  SimulationInput input;
  ReadJob(*spec, input);
  if (config.job().has_hybrid()) input.setup.hybrid = spec->hybrid;
  input.setup.model = *std::move(model);
  ReadCluster(config.cluster(), input.setup.cluster);
  input.setup.cluster.virtual_stages = std::max(config.virtual_stages(), 1U);
  input.setup.cluster.sync_domain = *sync_domain;
  if (config.job().cost().kernel_latency().q_lens_size() > 0) {
    auto attention = InField("job.cost.kernel_latency",
                             ReadKernelLatency(config.job().cost().kernel_latency()));
    if (!attention.ok()) return attention.status();
    input.setup.attention = *std::move(attention);
  }
  absl::Status status = Validate(input.setup.cluster, input.setup.model);
  status.Update(ValidateStepShape(input.setup.cluster, input.setup.micro_batches,
                                  input.setup.virtual_pipeline_group));
  if (!status.ok()) return InFileNames(status);
  return input;
}

absl::StatusOr<SimulationInput> ReadSimulationInput(const std::string& name,
                                                    const std::string& other_names) {
  absl::StatusOr<SimulationSetup> named = NamedSetup(name);
  if (named.ok()) return SimulationInput{*std::move(named), WlbMethod()};
  std::error_code no_error;
  if (name != "-" && !std::filesystem::exists(name, no_error)) {
    return InvalidField(
        "--config", QuotedValue(name),
        absl::StrCat(other_names, SetupNames(), ", or a file that is there"));
  }
  v1::SimulationConfig config;
  if (absl::Status status = ReadMessageFile("--config", name, config); !status.ok()) {
    return status;
  }
  absl::StatusOr<SimulationInput> input = FromProto(config);
  if (!input.ok()) {
    return absl::Status(input.status().code(), absl::StrCat("--config ", name, ": ",
                                                            input.status().message()));
  }
  input->setup.name = name;
  return input;
}

}  // namespace evenpack
