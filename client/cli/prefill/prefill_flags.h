// The flags of `pack --mode prefill`.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_PREFILL_FLAGS_H_
#define EVENPACK_CLIENT_CLI_PREFILL_PREFILL_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/job_flags.h"
#include "client/cli/prefill/arrival_trace.h"
#include "client/cli/prefill/batch_former.h"
#include "server/core/cost/cost_spec.h"

namespace evenpack {

struct PrefillFlags {
  // Prompts; the seed is of arrivals too.
  FeedFlags feed;
  // Of each prompt's length, 0.000001 to 1,000.
  double length_scale = 1;
  // Most requests.
  std::optional<uint64_t> requests;
  // Empty: drawn.
  std::string arrivals_file;
  ArrivalSpec arrivals;
  BatchLimits limits;
  std::optional<uint64_t> max_delay;
  std::vector<Discipline> disciplines;
  CostSpec cost;
};

// Whether --mode says prefill.
bool IsPrefill(const FlagValues& values);

// INVALID_ARGUMENT naming the flag.
absl::StatusOr<PrefillFlags> ReadPrefillFlags(const FlagValues& values);

// Flags that were given and that prefill has no use for.
std::vector<std::string> UnusedInPrefill(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_PREFILL_FLAGS_H_
