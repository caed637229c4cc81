// The flags of spec_flag_table.h as changes of a JobSpec.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAGS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"

namespace evenpack::v1 {
class JobSpec;
}  // namespace evenpack::v1

namespace evenpack {

// Sets in `spec` what `values` names and leaves the rest as it is; a policy or a model
// of another kind than the spec's replaces it. Ranges that depend on other fields are
// left to the server. Gives the flags that have no effect on such a spec, which are not
// set. INVALID_ARGUMENT naming the flag.
absl::StatusOr<std::vector<std::string>> ApplySpecFlags(const FlagValues& values,
                                                        v1::JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAGS_H_
