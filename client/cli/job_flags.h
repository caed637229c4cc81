// The flags that pack and compare share, as what they mean for a job.
#ifndef EVENPACK_CLIENT_CLI_JOB_FLAGS_H_
#define EVENPACK_CLIENT_CLI_JOB_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "server/core/cost/cost_spec.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// The one stream of the jobs that evenpackctl makes.
inline constexpr std::string_view kStreamName = "lengths";

// What follows from the window where it is not given.
struct WindowDefaults {
  uint32_t max_length;
  std::vector<uint32_t> queue_thresholds;
};
// Of `wlb`: 3/2 of the window, and outliers from 3/8 and 3/4 of it; all rounded down,
// no threshold of 0 and none twice.
WindowDefaults VariableLengthDefaults(uint32_t window);

struct JobFlags {
  uint32_t micro_batches = 1;
  uint32_t window = 1;
  uint32_t max_length = 1;
  uint32_t window_batches = 1;
  std::vector<uint32_t> queue_thresholds;
  std::optional<uint64_t> max_delay;
  double backlog_limit = 4;
  BalancedSpec balanced = {};
  CostSpec cost;
  // Decide as if the crossover were 1 + this times what it is.
  double crossover_error = 0;
  uint32_t context_parallel = 1;
  bool split_documents = false;
  bool split_overlong = false;
};

// What is fed to a job, and how long.
struct FeedFlags {
  // The values of --lengths and --idx: one of them is empty.
  std::string lengths;
  std::string index;
  uint64_t passes = 1;
  uint64_t seed = 0;
  // Full steps after which no more documents are taken.
  std::optional<uint64_t> steps;
};

// `pack`: shape flags are required, and what is not given is off.
// INVALID_ARGUMENT naming the flag.
absl::StatusOr<JobFlags> ReadPackJobFlags(const FlagValues& values);
// `compare`: everything has a default.
absl::StatusOr<JobFlags> ReadCompareJobFlags(const FlagValues& values);
// One of --lengths and --idx is required. INVALID_ARGUMENT naming the flag.
absl::StatusOr<FeedFlags> ReadFeedFlags(const FlagValues& values);

// original, fixed_greedy, wlb, balanced.
std::string_view PolicyName(PolicyKind kind);
absl::StatusOr<PolicyKind> ReadPolicy(const FlagValues& values);

// The job of one policy, with its workload resolved and validated; what the policy does
// not use is left at its default. INVALID_ARGUMENT naming the flag.
absl::StatusOr<JobSpec> MakeJobSpec(const JobFlags& flags, PolicyKind policy);

// `spec`, which MakeJobSpec made, with costs that are wrong by the flags'
// crossover_error. INVALID_ARGUMENT where steps could then be too heavy to count.
absl::StatusOr<JobSpec> WithCostError(JobSpec spec, const JobFlags& flags);

// Flags that were given and that have no effect on any of `policies`.
std::vector<std::string> UnusedFlags(const FlagValues& values,
                                     const std::vector<PolicyKind>& policies);
// "evenpackctl: note: ...\n" naming them, or nothing where there are none.
std::string UnusedFlagsNote(const std::vector<std::string>& unused);
// Of the flags that say how documents are fed: a seed without several passes.
std::vector<std::string> UnusedFeedFlags(const FlagValues& values);

// `status` with the engine's field names turned into the flags that set them.
absl::Status InFlagNames(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_JOB_FLAGS_H_
