// The commands that talk to a server: jobs ..., profiles ..., ingest, follow, step.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_ONLINE_FLAGS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_ONLINE_FLAGS_H_

#include <vector>

#include "client/cli/flag_table.h"

namespace evenpack {

std::vector<CommandDefinition> OnlineCommands();

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_ONLINE_FLAGS_H_
