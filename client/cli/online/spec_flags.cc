#include "client/cli/online/spec_flags.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/balanced_flags.h"
#include "client/cli/job_flags.h"
#include "client/cli/quoted_value.h"
#include "client/cli/sharding_name.h"
#include "evenpack/v1/job.pb.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

using Range = FlagReader::Range;
using Unused = std::vector<std::string>;

constexpr Range kTokens = {1, kMaxDocumentLength};
constexpr Range kRanks = {1, 1024};
constexpr Range kManyRanks = {1, 65536};
constexpr Range kFromZero32 = {0, std::numeric_limits<uint32_t>::max()};
constexpr Range kFromZero = {0, std::numeric_limits<uint64_t>::max()};
constexpr Range kCrossover = {1, std::numeric_limits<uint32_t>::max()};
constexpr Range kNsPerToken = {1, 1'000'000'000};
constexpr Range kMostDelay = {0, 1'000'000'000'000};
constexpr Range kWeight = {1, 1'000'000};
constexpr Range kPicoseconds = {0, 100'000'000};
constexpr double kMostBacklog = 1e6;
constexpr double kLeastScale = 0.01;
constexpr double kMostScale = 100;

// By the numbers of the enums, less the unspecified 0.
constexpr std::array<std::string_view, 2> kMergeNames = {"interleave", "arrival"};
constexpr std::array<std::string_view, 6> kLayouts = {
    "native", "megatron_thd", "te_thd", "pytorch_cp", "ring_llama3", "hf_flat"};

struct NumberFlag {
  const char* name;
  Range range;
  void (*set)(v1::JobSpec& spec, uint64_t value);
};

uint32_t Narrow(uint64_t value) { return static_cast<uint32_t>(value); }

constexpr NumberFlag kNumberFlags[] = {
    {"--dp", kManyRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_data(Narrow(value));
     }},
    {"--micro-batches", kManyRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_micro_batches_per_rank(Narrow(value));
     }},
    {"--cp", kRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_context(Narrow(value));
     }},
    {"--tp", kRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_tensor(Narrow(value));
     }},
    {"--pp", kRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_pipeline(Narrow(value));
     }},
    {"--ep", kManyRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_expert(Narrow(value));
     }},
    {"--virtual-pipeline-group", kManyRanks,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_parallelism()->set_virtual_pipeline_group(Narrow(value));
     }},
    {"--window", kTokens,
     [](v1::JobSpec& spec, uint64_t value) { spec.set_window(Narrow(value)); }},
    {"--max-length", kTokens,
     [](v1::JobSpec& spec, uint64_t value) { spec.set_max_length(Narrow(value)); }},
    {"--max-delay", kMostDelay,
     [](v1::JobSpec& spec, uint64_t value) { spec.set_max_delay(value); }},
    {"--max-documents", kFromZero32,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_consumer_layout()->set_max_documents(Narrow(value));
     }},
    {"--pad-tokens-to", kFromZero32,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_consumer_layout()->set_pad_tokens_to(Narrow(value));
     }},
    {"--hybrid-tolerance",
     {0, 1'000'000},
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_hybrid()->set_token_tolerance_ppm(Narrow(value));
     }},
    {"--hybrid-token-ps", kPicoseconds,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_hybrid()->set_token_ps(static_cast<int64_t>(value));
     }},
    {"--hybrid-cut-token-ps", kPicoseconds,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_hybrid()->set_cut_token_ps(static_cast<int64_t>(value));
     }},
    {"--retain-checkpoints",
     {1, 1000},
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_retention()->set_checkpoints(Narrow(value));
     }},
    {"--max-steps-ahead",
     {1, uint64_t{1} << 32},
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_retention()->set_max_steps_ahead(value);
     }},
    {"--max-buffered-tokens", kFromZero,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_buffer_limits()->set_max_tokens(value);
     }},
    {"--max-buffered-documents", kFromZero,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_buffer_limits()->set_max_documents(value);
     }},
    {"--max-buffered-bytes", kFromZero,
     [](v1::JobSpec& spec, uint64_t value) {
       spec.mutable_buffer_limits()->set_max_bytes(value);
     }},
};

// The number of the enum's value that the flag names; `unchanged` where not given.
template <typename Enum, size_t n>
Enum Named(const std::string& flag, const std::array<std::string_view, n>& names,
           Enum unchanged, const FlagValues& values, FlagReader& reader) {
  if (!IsGiven(values, flag)) return unchanged;
  return static_cast<Enum>(reader.OneOf(flag, names) + 1);
}

// "NAME" or "NAME=WEIGHT".
void AddStream(const std::string& text, v1::JobSpec& spec, FlagReader& reader) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  v1::Stream& stream = *spec.add_streams();
  stream.set_name(parts[0]);
  if (parts[0].empty()) {
    reader.Fail(InvalidField("--streams", QuotedValue(text),
                             "names, each NAME or NAME=WEIGHT, with commas between"));
  }
  if (parts.size() == 1) return;
  const FlagValues weight = {{"--streams", parts[1]}};
  FlagReader weight_reader(weight);
  stream.set_weight(weight_reader.Integer32("--streams", kWeight));
  if (!weight_reader.status().ok()) {
    reader.Fail(InvalidField("--streams", QuotedValue(text),
                             absl::StrCat("NAME=WEIGHT with a weight from ",
                                          kWeight.least, " to ", kWeight.most)));
  }
}

void ApplyStreams(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader) {
  if (IsGiven(values, "--streams")) {
    spec.clear_streams();
    const std::vector<std::string> streams =
        absl::StrSplit(values.at("--streams"), ',');
    for (const std::string& stream : streams) AddStream(stream, spec, reader);
  }
  spec.set_merge(Named("--merge", kMergeNames, spec.merge(), values, reader));
}

// Makes the policy the one that --policy names, with its options as they were where
// it was that one already.
void ChoosePolicy(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader) {
  if (!IsGiven(values, "--policy")) {
    // Thresholds are of wlb alone.
    const bool none = spec.policy().policy_case() == v1::Policy::POLICY_NOT_SET;
    if (none && IsGiven(values, "--queue-thresholds")) {
      spec.mutable_policy()->mutable_wlb();
    }
    return;
  }
  const absl::StatusOr<PolicyKind> kind = ReadPolicy(values);
  if (!kind.ok()) return reader.Fail(kind.status());
  v1::Policy& policy = *spec.mutable_policy();
  switch (*kind) {
    case PolicyKind::kOriginal:
      policy.mutable_original();
      break;
    case PolicyKind::kFixedGreedy:
      policy.mutable_fixed_greedy();
      break;
    case PolicyKind::kWlb:
      policy.mutable_wlb();
      break;
    case PolicyKind::kBalanced:
      policy.mutable_balanced();
      break;
  }
}

void SetTokens(const std::vector<uint32_t>& tokens,
               google::protobuf::RepeatedField<uint32_t>& field) {
  field.Assign(tokens.begin(), tokens.end());
}

v1::Release ToProto(ReleaseMode release) {
  switch (release) {
    case ReleaseMode::kByWorkload:
      return v1::RELEASE_BY_WORKLOAD;
    case ReleaseMode::kByClass:
      return v1::RELEASE_BY_CLASS;
    case ReleaseMode::kByLevel:
      return v1::RELEASE_BY_LEVEL;
  }
  return v1::RELEASE_UNSPECIFIED;
}

// The fields whose flags are given.
void ApplyBalanced(const FlagValues& values, const BalancedSpec& given,
                   v1::BalancedPolicy& policy) {
  constexpr double kMillion = 1e6;
  if (IsGiven(values, "--delay-price")) {
    policy.set_delay_price(given.delay_price_ppm / kMillion);
  }
  if (IsGiven(values, "--token-cv")) {
    policy.set_token_cv(*given.token_spread_ppm / kMillion);
  }
  if (IsGiven(values, "--long-share")) {
    policy.set_long_share(*given.long_share_spread_ppm / kMillion);
  }
  if (IsGiven(values, "--attention-error")) {
    policy.set_attention_error(given.attention_error_64ths / 64.0);
  }
  if (IsGiven(values, "--release")) {
    policy.set_release(ToProto(given.release));
  }
  if (IsGiven(values, "--finish")) policy.set_finish(given.finish);
  if (IsGiven(values, "--max-in-flight")) {
    policy.set_max_in_flight_tokens(given.max_in_flight_tokens);
  }
}

void ApplyPolicy(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader,
                 Unused& unused) {
  ChoosePolicy(values, spec, reader);
  const v1::Policy& policy = spec.policy();
  const bool wlb = policy.has_wlb();
  // A spec without a policy means this one.
  const bool is_balanced =
      policy.has_balanced() || policy.policy_case() == v1::Policy::POLICY_NOT_SET;
  // True where the flag is given and the policy reads it.
  const auto applies = [&values, &unused](const char* flag, bool is_read) {
    if (!IsGiven(values, flag)) return false;
    if (!is_read) unused.emplace_back(flag);
    return is_read;
  };
  // Read in either case, so that a bad value is never passed over.
  const uint32_t batches = reader.Integer32("--window-batches", {1, 1024}, 1);
  const std::vector<uint32_t> thresholds = reader.Tokens("--queue-thresholds", {});
  const bool split = reader.Boolean("--split-documents", false);
  const double backlog = reader.Real("--backlog-limit", 0, kMostBacklog, 4);
  if (applies("--window-batches", policy.has_fixed_greedy())) {
    spec.mutable_policy()->mutable_fixed_greedy()->set_window_batches(batches);
  }
  if (applies("--queue-thresholds", wlb)) {
    SetTokens(thresholds,
              *spec.mutable_policy()->mutable_wlb()->mutable_queue_thresholds());
  }
  if (applies("--split-documents", policy.has_original())) {
    spec.mutable_policy()->mutable_original()->set_split_documents(split);
  }
  const BalancedSpec balanced = ReadBalanced(values, reader);
  bool any = false;
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    any = applies(flag.name, is_balanced) || any;
  }
  if (any && reader.status().ok()) {
    ApplyBalanced(values, balanced, *spec.mutable_policy()->mutable_balanced());
  }
  if (applies("--backlog-limit", wlb || is_balanced)) spec.set_backlog_limit(backlog);
}

std::string ReadName(const std::string& flag,
                     const std::vector<absl::string_view>& names, FlagReader& reader) {
  const std::string accepted = absl::StrJoin(names, ", ");
  std::string name = reader.Text(flag, accepted, "");
  for (const absl::string_view known : names) {
    if (name == known) return name;
  }
  reader.Fail(InvalidField(flag, QuotedValue(name), accepted));
  return name;
}

// Where the model of a workload stands. With a profile only the part that is linear in
// tokens is the model's.
v1::AnalyticCost& ModelCost(const FlagValues& values, v1::Cost& cost) {
  const bool profiled = cost.has_profiled() || (IsGiven(values, "--model") &&
                                                IsGiven(values, "--cost-profile"));
  return profiled ? *cost.mutable_profiled()->mutable_linear()
                  : *cost.mutable_analytic();
}

void ApplyModel(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader,
                Unused& unused) {
  const bool model = IsGiven(values, "--model");
  const std::string hardware = IsGiven(values, "--hardware")
                                   ? ReadName("--hardware", HardwareNames(), reader)
                                   : "";
  if (model) {
    v1::AnalyticCost& analytic = ModelCost(values, *spec.mutable_cost());
    analytic.mutable_model()->set_name(ReadName("--model", ModelNames(), reader));
    if (!analytic.has_hardware()) analytic.mutable_hardware()->set_name("H100");
  }
  if (hardware.empty()) return;
  if (spec.cost().has_analytic() || spec.cost().has_profiled()) {
    ModelCost(values, *spec.mutable_cost()).mutable_hardware()->set_name(hardware);
  } else {
    unused.emplace_back("--hardware");
  }
}

void ApplyProfile(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader) {
  if (!IsGiven(values, "--cost-profile")) return;
  v1::Cost& cost = *spec.mutable_cost();
  cost.set_profile(reader.Text("--cost-profile", "the name of a cost profile"));
  cost.clear_kernel_latency();
}

void ApplyCost(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader,
               Unused& unused) {
  const bool crossover = IsGiven(values, "--crossover");
  const bool ns_per_token = IsGiven(values, "--ns-per-token");
  const uint64_t tokens = reader.Integer("--crossover", kCrossover, 47000);
  const uint64_t ns = reader.Integer("--ns-per-token", kNsPerToken, 1000);
  if (crossover && IsGiven(values, "--model")) {
    reader.Fail(InvalidField(
        "--crossover",
        absl::StrCat(QuotedValue(values.at("--crossover")), " together with --model ",
                     QuotedValue(values.at("--model"))),
        "one of the two"));
  }
  ApplyModel(values, spec, reader, unused);
  ApplyProfile(values, spec, reader);
  if (crossover) {
    spec.mutable_cost()->mutable_quadratic()->set_crossover_tokens(tokens);
  }
  if (!ns_per_token) return;
  const v1::Cost& cost = spec.cost();
  // A spec without a workload means a quadratic one.
  if (cost.has_quadratic() || cost.workload_case() == 0) {
    spec.mutable_cost()->mutable_quadratic()->set_ns_per_token(ns);
  } else {
    unused.emplace_back("--ns-per-token");
  }
}

void ApplyScales(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader) {
  const double attention = reader.Real("--attention-scale", kLeastScale, kMostScale, 1);
  const double linear = reader.Real("--linear-scale", kLeastScale, kMostScale, 1);
  const bool calibrating = reader.Boolean("--self-calibrating", false);
  if (IsGiven(values, "--attention-scale")) {
    spec.mutable_cost()->set_attention_scale(attention);
  }
  if (IsGiven(values, "--linear-scale")) {
    spec.mutable_cost()->set_linear_scale(linear);
  }
  if (IsGiven(values, "--self-calibrating")) {
    spec.mutable_cost()->set_self_calibrating(calibrating);
  }
}

void ApplyConsumer(const FlagValues& values, v1::JobSpec& spec, FlagReader& reader) {
  spec.set_sharding(
      Named("--sharding", kShardingNames, spec.sharding(), values, reader));
  if (IsGiven(values, "--layout")) {
    spec.mutable_consumer_layout()->set_layout(
        Named("--layout", kLayouts, v1::LAYOUT_UNSPECIFIED, values, reader));
  }
  if (IsGiven(values, "--shape-ladder")) {
    SetTokens(reader.Tokens("--shape-ladder", {}),
              *spec.mutable_consumer_layout()->mutable_shape_ladder());
  }
  if (IsGiven(values, "--sequence-parallel")) {
    spec.mutable_consumer_layout()->set_sequence_parallel(
        reader.Boolean("--sequence-parallel", false));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ApplySpecFlags(const FlagValues& values,
                                                        v1::JobSpec& spec) {
  FlagReader reader(values);
  Unused unused;
  ApplyStreams(values, spec, reader);
  for (const NumberFlag& flag : kNumberFlags) {
    if (!IsGiven(values, flag.name)) continue;
    flag.set(spec, reader.Integer(flag.name, flag.range));
  }
  if (IsGiven(values, "--split-overlong")) {
    spec.set_split_overlong(reader.Boolean("--split-overlong", false));
  }
  ApplyPolicy(values, spec, reader, unused);
  ApplyCost(values, spec, reader, unused);
  ApplyScales(values, spec, reader);
  ApplyConsumer(values, spec, reader);
  if (!reader.status().ok()) return reader.status();
  return unused;
}

}  // namespace evenpack
