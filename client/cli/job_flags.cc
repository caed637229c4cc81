#include "client/cli/job_flags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/balanced_flags.h"
#include "client/cli/model_flags.h"
#include "server/core/cost/cost_scales.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr std::array<std::string_view, 4> kPolicyNames = {"original", "fixed_greedy",
                                                          "wlb", "balanced"};
constexpr FlagReader::Range kMicroBatches = {1, 65536};
constexpr FlagReader::Range kTokens = {1, kMaxDocumentLength};
constexpr FlagReader::Range kWindowBatches = {1, 1024};
constexpr FlagReader::Range kPasses = {1, 1'000'000};
constexpr FlagReader::Range kDelay = {0, 1'000'000'000'000};
constexpr FlagReader::Range kSteps = {1, 1'000'000'000'000};
constexpr double kMostBacklog = 1e6;
constexpr double kLeastCrossoverError = -0.9;
constexpr double kMostCrossoverError = 90;
constexpr uint32_t kCompareWindowBatches = 8;

WindowDefaults PackDefaults(uint32_t window) { return {window, {}}; }

absl::StatusOr<JobFlags> ReadJobFlags(const FlagValues& values, JobFlags flags,
                                      const WindowDefaults& defaults,
                                      FlagReader& reader) {
  flags.max_length = reader.Integer32("--max-length", kTokens, defaults.max_length);
  if (reader.status().ok() && flags.max_length < flags.window) {
    reader.Fail(InvalidField(
        "--max-length", absl::StrCat("'", flags.max_length, "'"),
        absl::StrCat(flags.window, ", which is --window, to ", kMaxDocumentLength)));
  }
  flags.queue_thresholds =
      reader.Tokens("--queue-thresholds", defaults.queue_thresholds);
  if (IsGiven(values, "--max-delay")) {
    flags.max_delay = reader.Integer("--max-delay", kDelay);
  }
  flags.backlog_limit = reader.Real("--backlog-limit", 0, kMostBacklog, 4);
  flags.balanced = ReadBalanced(values, reader);
  flags.cost = ReadCost(values, reader);
  if (const auto* analytic = std::get_if<AnalyticCost>(&flags.cost)) {
    flags.context_parallel = analytic->context_parallel;
  }
  flags.crossover_error =
      reader.Real("--crossover-error", kLeastCrossoverError, kMostCrossoverError, 0);
  flags.split_documents = reader.Boolean("--split-documents", false);
  flags.split_overlong = reader.Boolean("--split-overlong", false);
  if (!reader.status().ok()) return reader.status();
  return flags;
}

// A flag name for each of the engine's names that a message may hold. No name is part
// of a word of prose.
std::string ReplaceFieldNames(std::string_view message) {
  return absl::StrReplaceAll(absl::string_view(message.data(), message.size()),
                             {{"micro_batches", "--micro-batches"},
                              {"max_length", "--max-length"},
                              {"max_tokens", "--max-length"},
                              {"policy.window_batches", "--window-batches"},
                              {"queue_thresholds", "--queue-thresholds"},
                              {"max_delay", "--max-delay"},
                              {"backlog_limit", "--backlog-limit"},
                              {"crossover_tokens", "--crossover"},
                              {"ns_per_token", "--ns-per-token"},
                              {"tensor_parallel", "--tp"},
                              {"context_parallel", "--cp"},
                              {"pad_to", "--pad-to"},
                              {"split_overlong", "--split-overlong true"}});
}

PolicySpec MakePolicy(const JobFlags& flags, PolicyKind kind) {
  PolicySpec policy;
  policy.kind = kind;
  if (kind == PolicyKind::kFixedGreedy) policy.window_batches = flags.window_batches;
  if (kind == PolicyKind::kWlb) policy.queue_thresholds = flags.queue_thresholds;
  if (kind == PolicyKind::kBalanced) policy.balanced = flags.balanced;
  if (kind == PolicyKind::kOriginal) policy.split_documents = flags.split_documents;
  return policy;
}

}  // namespace

WindowDefaults VariableLengthDefaults(uint32_t window) {
  WindowDefaults defaults;
  defaults.max_length = static_cast<uint32_t>(
      std::min<uint64_t>(uint64_t{window} * 3 / 2, kMaxDocumentLength));
  for (const uint64_t eighths : {3U, 6U}) {
    const auto threshold = static_cast<uint32_t>(eighths * window / 8);
    const uint32_t previous =
        defaults.queue_thresholds.empty() ? 0 : defaults.queue_thresholds.back();
    if (threshold > previous) defaults.queue_thresholds.push_back(threshold);
  }
  return defaults;
}

absl::StatusOr<JobFlags> ReadPackJobFlags(const FlagValues& values) {
  FlagReader reader(values);
  JobFlags flags;
  flags.micro_batches = reader.Integer32("--micro-batches", kMicroBatches);
  flags.window = reader.Integer32("--window", kTokens);
  flags.window_batches = reader.Integer32("--window-batches", kWindowBatches, 1);
  if (!reader.status().ok()) return reader.status();
  return ReadJobFlags(values, flags, PackDefaults(flags.window), reader);
}

absl::StatusOr<JobFlags> ReadCompareJobFlags(const FlagValues& values) {
  FlagReader reader(values);
  JobFlags flags;
  flags.micro_batches = reader.Integer32("--micro-batches", kMicroBatches, 4);
  flags.window = reader.Integer32("--window", kTokens, 131072);
  // A bound on delay bounds the batches that can be packed together.
  const uint64_t most_delay = reader.Integer("--max-delay", kDelay, kDelay.most);
  const auto wide =
      static_cast<uint32_t>(std::min<uint64_t>(kCompareWindowBatches, most_delay + 1));
  flags.window_batches = reader.Integer32("--window-batches", kWindowBatches, wide);
  if (!reader.status().ok()) return reader.status();
  return ReadJobFlags(values, flags, VariableLengthDefaults(flags.window), reader);
}

absl::StatusOr<FeedFlags> ReadFeedFlags(const FlagValues& values) {
  FlagReader reader(values);
  FeedFlags feed;
  const bool by_index = IsGiven(values, "--idx");
  if (by_index == IsGiven(values, "--lengths")) {
    return absl::InvalidArgumentError(
        absl::StrCat(by_index ? "--lengths together with --idx is not accepted"
                              : "--lengths is missing",
                     "; accepted: one of --lengths FILE and --idx PREFIX"));
  }
  std::string& path = by_index ? feed.index : feed.lengths;
  path = by_index ? reader.Text("--idx", "the path of a Megatron-Core index")
                  : reader.Text("--lengths", "a file with one document length a line");
  feed.passes = reader.Integer("--repeat", kPasses, 1);
  feed.seed = reader.Integer("--seed", {0, std::numeric_limits<uint64_t>::max()}, 0);
  if (IsGiven(values, "--steps")) feed.steps = reader.Integer("--steps", kSteps);
  if (!reader.status().ok()) return reader.status();
  return feed;
}

std::string_view PolicyName(PolicyKind kind) {
  return kPolicyNames[static_cast<size_t>(kind)];
}

absl::StatusOr<PolicyKind> ReadPolicy(const FlagValues& values) {
  FlagReader reader(values);
  const size_t policy = reader.OneOf("--policy", kPolicyNames);
  if (!reader.status().ok()) return reader.status();
  return static_cast<PolicyKind>(policy);
}

absl::StatusOr<JobSpec> MakeJobSpec(const JobFlags& flags, PolicyKind policy) {
  JobSpec spec;
  spec.streams = {{std::string(kStreamName)}};
  spec.micro_batches = flags.micro_batches;
  spec.context_parallel = flags.context_parallel;
  spec.window = flags.window;
  spec.max_length = flags.max_length;
  spec.policy = MakePolicy(flags, policy);
  spec.split_overlong = flags.split_overlong;
  spec.max_delay = flags.max_delay;
  if (IsVariableLength(policy)) spec.backlog_limit = flags.backlog_limit;
  absl::StatusOr<WorkloadTable> workload =
      ResolveWorkload(flags.cost, flags.max_length, flags.micro_batches);
  if (!workload.ok()) return InFlagNames(workload.status());
  spec.workload = *std::move(workload);
  absl::Status status = Validate(spec);
  if (status.ok()) status = CheckGiven(spec);
  if (!status.ok()) return InFlagNames(status);
  return spec;
}

absl::StatusOr<JobSpec> WithCostError(JobSpec spec, const JobFlags& flags) {
  CostScales wrong;
  wrong.attention_ppm =
      std::llround(static_cast<double>(CostScales::kOne) / (1 + flags.crossover_error));
  absl::StatusOr<WorkloadTable> workload =
      Rescaled(spec.workload, CostScales(), wrong, spec.micro_batches);
  if (!workload.ok()) return InFlagNames(workload.status());
  spec.workload = *std::move(workload);
  return spec;
}

std::vector<std::string> UnusedFlags(const FlagValues& values,
                                     const std::vector<PolicyKind>& policies) {
  const auto uses = [&policies](PolicyKind kind) {
    return std::find(policies.begin(), policies.end(), kind) != policies.end();
  };
  const bool model = IsGiven(values, "--model");
  std::map<std::string, bool> used = {
      {"--window-batches", uses(PolicyKind::kFixedGreedy)},
      {"--queue-thresholds", uses(PolicyKind::kWlb)},
      {"--backlog-limit", uses(PolicyKind::kWlb) || uses(PolicyKind::kBalanced)},
      // compare has a row for either value.
      {"--split-documents", policies == std::vector{PolicyKind::kOriginal}},
      {"--ns-per-token", !model},
      {"--hardware", model},
      {"--tp", model},
      {"--cp", model},
      {"--seed", IsGiven(values, "--repeat")},
  };
  for (const FlagDefinition& flag : BalancedFlagDefinitions()) {
    used[flag.name] = uses(PolicyKind::kBalanced);
  }
  // One micro-batch is in flight where there is one pipeline stage.
  used["--max-in-flight"] = false;
  std::vector<std::string> unused;
  for (const auto& [flag, is_used] : used) {
    if (!is_used && IsGiven(values, flag)) unused.push_back(flag);
  }
  return unused;
}

std::vector<std::string> UnusedFeedFlags(const FlagValues& values) {
  if (IsGiven(values, "--repeat") || !IsGiven(values, "--seed")) return {};
  return {"--seed"};
}

std::string UnusedFlagsNote(const std::vector<std::string>& unused) {
  if (unused.empty()) return "";
  return absl::StrCat("evenpackctl: note: ", absl::StrJoin(unused, ", "),
                      unused.size() == 1 ? " has" : " have", " no effect here\n");
}

absl::Status InFlagNames(const absl::Status& status) {
  if (status.ok()) return status;
  const absl::Status named = InBalancedFlagNames(status);
  std::string message = ReplaceFieldNames(
      std::string_view(named.message().data(), named.message().size()));
  // As a whole word only: it is one of prose too.
  if (absl::StartsWith(message, "window:")) message = absl::StrCat("--", message);
  return {status.code(), message};
}

}  // namespace evenpack
