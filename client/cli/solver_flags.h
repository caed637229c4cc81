// The policies of `pack`: those of the engine, and the exact ones, which only it has.
#ifndef EVENPACK_CLIENT_CLI_SOLVER_FLAGS_H_
#define EVENPACK_CLIENT_CLI_SOLVER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/job_flags.h"
#include "server/core/engine/job_spec.h"
#include "server/solver/load_solver.h"

namespace evenpack {

enum class ExactPolicy : uint8_t {
  kFixed,   // fixed_solver: SolveFixed, from what fixed_greedy packed
  kVarlen,  // varlen_solver: SolveVarlen, from what wlb without queues packed
};

struct PackPolicy {
  std::string name;
  // What the engine packs by.
  PolicyKind engine = PolicyKind::kWlb;
  // What then packs the same documents again.
  std::optional<ExactPolicy> exact;
};

// INVALID_ARGUMENT naming --policy.
absl::StatusOr<PackPolicy> ReadPackPolicy(const FlagValues& values);

// --time-limit, 0 to 86,400 seconds, and --gap. INVALID_ARGUMENT naming the flag.
absl::StatusOr<SolverOptions> ReadSolverOptions(const FlagValues& values);

// The engine's job under `policy`, as MakeJobSpec makes it.
absl::StatusOr<JobSpec> MakePackJobSpec(JobFlags flags, const PackPolicy& policy);

// Flags that were given and that have no effect with `policy`.
std::vector<std::string> UnusedPackFlags(const FlagValues& values,
                                         const PackPolicy& policy);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SOLVER_FLAGS_H_
