// The flags that say what a job is, one or more for each field of JobSpec.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAG_TABLE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAG_TABLE_H_

#include <vector>

#include "client/cli/flag_table.h"

namespace evenpack {

// Constant for a job's life.
std::vector<FlagDefinition> StreamFlagDefinitions();
// What an update may change.
std::vector<FlagDefinition> SpecFlagDefinitions();

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_SPEC_FLAG_TABLE_H_
