#include "client/cli/solver_flags.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// The engine's, by the numbers of PolicyKind, then the exact ones.
constexpr std::array<std::string_view, 6> kPolicies = {
    "original", "fixed_greedy", "wlb", "balanced", "fixed_solver", "varlen_solver"};
constexpr size_t kFixedSolver = 4;
constexpr size_t kVarlenSolver = 5;
constexpr double kMostSeconds = 86'400;

}  // namespace

absl::StatusOr<PackPolicy> ReadPackPolicy(const FlagValues& values) {
  FlagReader reader(values);
  const size_t policy = reader.OneOf("--policy", kPolicies);
  if (!reader.status().ok()) return reader.status();
  const std::string name(kPolicies[policy]);
  if (policy == kFixedSolver) {
    return PackPolicy{name, PolicyKind::kFixedGreedy, ExactPolicy::kFixed};
  }
  if (policy == kVarlenSolver) {
    return PackPolicy{name, PolicyKind::kWlb, ExactPolicy::kVarlen};
  }
  return PackPolicy{name, static_cast<PolicyKind>(policy), std::nullopt};
}

absl::StatusOr<SolverOptions> ReadSolverOptions(const FlagValues& values) {
  FlagReader reader(values);
  SolverOptions options;
  options.time_limit = reader.Real("--time-limit", 0, kMostSeconds, options.time_limit);
  options.gap = reader.Real("--gap", kLeastGap, 1, options.gap);
  if (!reader.status().ok()) return reader.status();
  return options;
}

absl::StatusOr<JobSpec> MakePackJobSpec(JobFlags flags, const PackPolicy& policy) {
  // The programme has no queues.
  if (policy.exact == ExactPolicy::kVarlen) flags.queue_thresholds.clear();
  return MakeJobSpec(flags, policy.engine);
}

std::vector<std::string> UnusedPackFlags(const FlagValues& values,
                                         const PackPolicy& policy) {
  std::vector<std::string> unused = UnusedFlags(values, {policy.engine});
  const auto add = [&](const std::string& flag) {
    if (IsGiven(values, flag)) unused.push_back(flag);
  };
  if (policy.exact == ExactPolicy::kVarlen) add("--queue-thresholds");
  if (!policy.exact.has_value()) {
    add("--gap");
    add("--time-limit");
  }
  // Of --mode prefill.
  for (const char* flag :
       {"--arrivals", "--arrivals-file", "--burst-seconds", "--discipline",
        "--length-scale", "--rate", "--replicas", "--requests"}) {
    add(flag);
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

}  // namespace evenpack
