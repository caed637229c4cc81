// The flags of the policy `balanced`.
#ifndef EVENPACK_CLIENT_CLI_BALANCED_FLAGS_H_
#define EVENPACK_CLIENT_CLI_BALANCED_FLAGS_H_

#include <vector>

#include "absl/status/status.h"
#include "client/cli/flag_table.h"
#include "client/cli/flag_values.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// --token-cv, --long-share, --delay-price, --attention-error, --release, --finish,
// --max-in-flight.
const std::vector<FlagDefinition>& BalancedFlagDefinitions();

// `status` with the engine's names of their fields turned into these flags.
absl::Status InBalancedFlagNames(const absl::Status& status);

// What is not given is as in `balanced`. Errors are `reader`'s.
BalancedSpec ReadBalanced(const FlagValues& values, FlagReader& reader,
                          BalancedSpec balanced = {});

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_BALANCED_FLAGS_H_
