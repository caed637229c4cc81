#include "server/service/spec_conversion.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "evenpack/v1/job.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/core/pipeline/pipeline_schedule.h"
#include "server/runtime/status_detail.h"
#include "server/service/cost_conversion.h"
#include "server/service/field_path.h"
#include "server/service/layout_names.h"
#include "server/service/policy_conversion.h"

namespace evenpack {
namespace {

constexpr uint64_t kDefaultNsPerToken = 1'000;
constexpr double kDefaultBacklogLimit = 4;
constexpr uint64_t kDefaultStepsAhead = 1024;
constexpr uint32_t kMaxMicroBatches = 65536;

// The engine's name of a field, and the API's below "spec".
struct FieldName {
  absl::string_view engine;
  absl::string_view api;
};
constexpr std::array<FieldName, 22> kFieldNames = {{
    {"data_parallel", "parallelism.data"},
    {"micro_batches", "parallelism.micro_batches_per_rank"},
    {"context_parallel", "parallelism.context"},
    {"tensor_parallel", "parallelism.tensor"},
    {"pipeline_parallel", "parallelism.pipeline"},
    {"virtual_pipeline_group", "parallelism.virtual_pipeline_group"},
    {"expert_parallel", "parallelism.expert"},
    {"max_tokens", "max_length"},
    {"policy.window_batches", "policy.fixed_greedy.window_batches"},
    {"queue_thresholds", "policy.wlb.queue_thresholds"},
    {"policy.virtual_stages", "policy.balanced.virtual_stages"},
    {"policy.token_spread_ppm", "policy.balanced.token_cv"},
    {"policy.long_share_spread_ppm", "policy.balanced.long_share"},
    {"policy.max_in_flight_tokens", "policy.balanced.max_in_flight_tokens"},
    {"retain_checkpoints", "retention.checkpoints"},
    {"max_steps_ahead", "retention.max_steps_ahead"},
    {"max_buffered_tokens", "buffer_limits.max_tokens"},
    {"max_buffered_documents", "buffer_limits.max_documents"},
    {"max_buffered_bytes", "buffer_limits.max_bytes"},
    {"layout.kind", "consumer_layout.layout"},
    {"workload", "cost"},
    {"kernel_latency", "cost.kernel_latency"},
}};

void FillHybrid(v1::HybridSharding& hybrid) {
  if (hybrid.has_token_tolerance_ppm()) return;
  hybrid.set_token_tolerance_ppm(HybridRule().token_tolerance_ppm);
}

v1::Sharding DefaultSharding(v1::Layout layout) {
  switch (layout) {
    case v1::LAYOUT_RING_LLAMA3:
      return v1::SHARDING_CONTIGUOUS;
    case v1::LAYOUT_HF_FLAT:
      return v1::SHARDING_PER_SEQUENCE;
    default:
      return v1::SHARDING_PER_DOCUMENT;
  }
}

void FillParallelism(uint32_t virtual_stages, v1::Parallelism& parallelism) {
  const auto at_least_one = [](uint32_t value) { return value == 0 ? 1 : value; };
  parallelism.set_data(at_least_one(parallelism.data()));
  parallelism.set_micro_batches_per_rank(
      at_least_one(parallelism.micro_batches_per_rank()));
  parallelism.set_context(at_least_one(parallelism.context()));
  parallelism.set_tensor(at_least_one(parallelism.tensor()));
  parallelism.set_pipeline(at_least_one(parallelism.pipeline()));
  if (parallelism.virtual_pipeline_group() <= 1) {
    parallelism.set_virtual_pipeline_group(
        virtual_stages <= 1 ? 1
                            : LeastPipelineGroup(parallelism.pipeline(),
                                                 parallelism.micro_batches_per_rank()));
  }
  parallelism.set_expert(at_least_one(parallelism.expert()));
}

void FillCost(v1::Cost& cost) {
  if (cost.workload_case() == v1::Cost::WORKLOAD_NOT_SET) cost.mutable_quadratic();
  if (cost.attention_scale() == 0) cost.set_attention_scale(1);
  if (cost.linear_scale() == 0) cost.set_linear_scale(1);
  if (!cost.has_quadratic()) return;
  v1::QuadraticCost& quadratic = *cost.mutable_quadratic();
  if (quadratic.crossover_tokens() == 0) {
    quadratic.set_crossover_tokens(kDefaultCrossover);
  }
  if (quadratic.ns_per_token() == 0) quadratic.set_ns_per_token(kDefaultNsPerToken);
}

absl::Status UnknownValue(absl::string_view field, int value, absl::string_view names) {
  return InvalidField(absl::StrCat("spec.", field), value, names);
}

absl::Status CheckPayload(const v1::JobSpec& spec) {
  if (spec.payload_mode() == v1::PAYLOAD_MODE_BY_REFERENCE ||
      spec.payload_mode() == v1::PAYLOAD_MODE_BY_VALUE) {
    return absl::OkStatus();
  }
  return UnknownValue("payload_mode", spec.payload_mode(),
                      "PAYLOAD_MODE_BY_REFERENCE or PAYLOAD_MODE_BY_VALUE");
}

void ReadStreams(const v1::JobSpec& from, JobSpec& to) {
  for (const v1::Stream& stream : from.streams()) {
    to.streams.push_back({stream.name(), stream.weight()});
  }
  to.merge = from.merge() == v1::MERGE_MODE_ARRIVAL ? MergeMode::kArrival
                                                    : MergeMode::kInterleave;
}

absl::Status ReadParallelism(const v1::Parallelism& from, JobSpec& to) {
  absl::Status status =
      CheckRange("spec.parallelism.data", from.data(), 1, kMaxMicroBatches);
  if (!status.ok()) return status;
  const uint32_t most = kMaxMicroBatches / from.data();
  if (from.micro_batches_per_rank() > most) {
    return InvalidField("spec.parallelism.micro_batches_per_rank",
                        from.micro_batches_per_rank(),
                        absl::StrCat("at most ", most, ", with data ", from.data()));
  }
  to.data_parallel = from.data();
  to.micro_batches = from.data() * from.micro_batches_per_rank();
  to.context_parallel = from.context();
  to.tensor_parallel = from.tensor();
  to.pipeline_parallel = from.pipeline();
  to.virtual_pipeline_group = from.virtual_pipeline_group();
  to.expert_parallel = from.expert();
  return absl::OkStatus();
}

absl::Status ReadLayout(const v1::JobSpec& from, JobSpec& to) {
  const v1::ConsumerLayout& layout = from.consumer_layout();
  const std::optional<Layout> kind = FromProto(layout.layout());
  if (!kind.has_value()) {
    return UnknownValue("consumer_layout.layout", layout.layout(),
                        "the values of evenpack.v1.Layout");
  }
  const std::optional<Sharding> sharding = FromProto(from.sharding());
  if (!sharding.has_value()) {
    return UnknownValue("sharding", from.sharding(),
                        "the values of evenpack.v1.Sharding");
  }
  to.sharding = *sharding;
  to.layout.kind = *kind;
  to.layout.max_documents = layout.max_documents();
  to.layout.pad_tokens_to = layout.pad_tokens_to();
  to.layout.shape_ladder = {layout.shape_ladder().begin(), layout.shape_ladder().end()};
  to.layout.sequence_parallel = layout.sequence_parallel();
  if (from.has_hybrid()) {
    to.hybrid = {from.hybrid().token_tolerance_ppm(), from.hybrid().token_ps(),
                 from.hybrid().cut_token_ps()};
  }
  return absl::OkStatus();
}

void ReadLimits(const v1::JobSpec& from, JobSpec& to) {
  to.window = from.window();
  to.max_length = from.max_length();
  to.split_overlong = from.split_overlong();
  if (from.has_max_delay()) to.max_delay = from.max_delay();
  to.backlog_limit = from.backlog_limit();
  to.retain_checkpoints = from.retention().checkpoints();
  to.max_steps_ahead = from.retention().max_steps_ahead();
  to.max_buffered_tokens = from.buffer_limits().max_tokens();
  to.max_buffered_documents = from.buffer_limits().max_documents();
  to.max_buffered_bytes = from.buffer_limits().max_bytes();
}

absl::Status ReadCost(const v1::Cost& given, const ProfileFinder& profiles,
                      JobSpec& to) {
  const CostShape shape = {to.max_length, to.micro_batches, to.tensor_parallel,
                           to.context_parallel};
  v1::Cost from = given;
  if (absl::Status status = ResolveProfile(profiles, shape, from); !status.ok()) {
    return Under("spec", status);
  }
  absl::StatusOr<WorkloadTable> workload = ResolveWorkload(from, shape);
  if (!workload.ok()) {
    const bool too_long =
        absl::EndsWith(RefusedField(workload.status()), ".max_tokens");
    return too_long ? Renamed("spec.max_length", workload.status())
                    : Under("spec", workload.status());
  }
  to.workload = *std::move(workload);
  // Also where no sharding is chosen by it: what ranks measure is held against it.
  absl::StatusOr<KernelLatencyTable> latency = ResolveKernelLatency(from, shape);
  if (!latency.ok()) return Under("spec", latency.status());
  to.kernel_latency = *std::move(latency);
  return absl::OkStatus();
}

// Those that resolving a cost needs to be in their ranges.
absl::Status CheckLengths(const JobSpec& spec) {
  constexpr uint32_t kMost = kMaxDocumentLength;
  absl::Status status = CheckRange("spec.window", spec.window, 1, kMost);
  status.Update(CheckRange("spec.max_length", spec.max_length, spec.window, kMost));
  status.Update(CheckRange("spec.parallelism.tensor", spec.tensor_parallel, 1, 1024));
  status.Update(CheckRange("spec.parallelism.context", spec.context_parallel, 1, 1024));
  return status;
}

}  // namespace

void FillDefaults(v1::JobSpec& spec) {
  for (v1::Stream& stream : *spec.mutable_streams()) {
    if (stream.weight() == 0) stream.set_weight(1);
  }
  if (spec.merge() == v1::MERGE_MODE_UNSPECIFIED) {
    spec.set_merge(v1::MERGE_MODE_INTERLEAVE);
  }
  FillPolicy(*spec.mutable_policy());
  FillParallelism(spec.policy().balanced().virtual_stages(),
                  *spec.mutable_parallelism());
  if (spec.max_length() == 0) spec.set_max_length(spec.window());
  if (!spec.has_backlog_limit()) spec.set_backlog_limit(kDefaultBacklogLimit);
  v1::ConsumerLayout& layout = *spec.mutable_consumer_layout();
  if (layout.layout() == v1::LAYOUT_UNSPECIFIED) layout.set_layout(v1::LAYOUT_NATIVE);
  if (spec.sharding() == v1::SHARDING_UNSPECIFIED) {
    spec.set_sharding(DefaultSharding(layout.layout()));
  }
  if (spec.sharding() == v1::SHARDING_HYBRID || spec.has_hybrid()) {
    FillHybrid(*spec.mutable_hybrid());
  }
  FillCost(*spec.mutable_cost());
  if (spec.payload_mode() == v1::PAYLOAD_MODE_UNSPECIFIED) {
    spec.set_payload_mode(v1::PAYLOAD_MODE_BY_REFERENCE);
  }
  v1::Retention& retention = *spec.mutable_retention();
  if (retention.checkpoints() == 0) retention.set_checkpoints(1);
  if (retention.max_steps_ahead() == 0) {
    retention.set_max_steps_ahead(kDefaultStepsAhead);
  }
}

absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& given,
                                  const ProfileFinder& profiles) {
  v1::JobSpec from = given;
  FillDefaults(from);
  JobSpec spec;
  absl::Status status = CheckPayload(from);
  if (status.ok() && !v1::MergeMode_IsValid(from.merge())) {
    status = UnknownValue("merge", from.merge(), "the values of evenpack.v1.MergeMode");
  }
  ReadStreams(from, spec);
  ReadLimits(from, spec);
  absl::StatusOr<PolicySpec> policy = FromProto(from.policy());
  if (policy.ok()) {
    spec.policy = *std::move(policy);
  } else if (status.ok()) {
    status = policy.status();
  }
  if (status.ok()) status = ReadParallelism(from.parallelism(), spec);
  if (status.ok()) status = ReadLayout(from, spec);
  if (status.ok()) status = CheckLengths(spec);
  if (status.ok()) status = ReadCost(from.cost(), profiles, spec);
  if (!status.ok()) return status;
  spec.description = from.SerializeAsString();
  status = Validate(spec);
  if (status.ok()) status = CheckGiven(spec);
  if (!status.ok()) return InSpecNames(status);
  return spec;
}

bool TokensTravel(const JobSpec& spec) {
  return DescriptionOf(spec).payload_mode() == v1::PAYLOAD_MODE_BY_VALUE;
}

v1::JobSpec DescriptionOf(const JobSpec& spec) {
  v1::JobSpec description;
  // Written by FromProto, so it can be read.
  description.ParseFromString(spec.description);
  return description;
}

absl::Status InSpecNames(const absl::Status& status) {
  const std::string field = RefusedField(status);
  if (field.empty()) return status;
  // "queue_thresholds[1]" is an element of a field.
  const absl::string_view name = absl::string_view(field).substr(0, field.find('['));
  const absl::string_view element = absl::string_view(field).substr(name.size());
  for (const FieldName& known : kFieldNames) {
    if (name == known.engine) {
      return Renamed(absl::StrCat("spec.", known.api, element), status);
    }
  }
  absl::string_view rest = field;
  if (absl::ConsumePrefix(&rest, "layout.")) {
    return Renamed(absl::StrCat("spec.consumer_layout.", rest), status);
  }
  return Under("spec", status);
}

}  // namespace evenpack
