// evenpackctl compare: every policy on the same documents.
#ifndef EVENPACK_CLIENT_CLI_COMPARE_COMMAND_H_
#define EVENPACK_CLIENT_CLI_COMPARE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command_output.h"
#include "client/cli/flag_values.h"
#include "client/cli/job_flags.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

struct PolicyChoice {
  std::string name;
  PolicyKind policy = PolicyKind::kOriginal;
  // The shared flags, with what makes this row set.
  JobFlags flags;
};

// original with whole and with cut documents, fixed_greedy over one and over
// window_batches global batches, wlb without and with queues. What would be a row twice
// is there once.
std::vector<PolicyChoice> ComparedPolicies(const JobFlags& flags);

// INVALID_ARGUMENT: a flag or a line of the file. INTERNAL: as RunPack.
absl::StatusOr<CommandOutput> RunCompareCommand(const FlagValues& values);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_COMPARE_COMMAND_H_
